"""The bracket of log Z and its metrics: against quadrature on every model in the plane, and with wrong samples."""

import math
from functools import cache

import pytest
import torch
from torch import Tensor, nn

from ebmbench.config.registry import load
from ebmbench.config.sections import Annealing, Training
from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.metrics.common.annealing import anneal
from ebmbench.metrics.common.annealing_base import make_base
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable
from ebmbench.metrics.common.quadrature import Quadrature, integrate
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer
from tests.conftest import gaussian_facts

DATASETS = ["eight_gaussians", "two_moons", "checkerboard", "unbalanced"]
LEARNERS = {"mlp": "nce", "noise_mlp": "ncsn"}
SETTINGS = Settings(cells=256, ais=Annealing(chains=200, temperatures=150))


@cache
def trained(dataset: str, model: str) -> tuple[Energy, Facts, Tensor]:
    """A network after a second of training: enough to have modes."""
    x = load("data", dataset).density().sample(5000, stream(0, "data")).float()
    facts = Facts.of(dataset, x.numpy(), x.numpy(), licence="", hash="")
    methods = load("methods", LEARNERS[model])
    settings = methods.Settings(model=model)
    training = Training(budget=200_000, rows=1)
    trainer = Trainer(Job(LEARNERS[model], settings, {}, 0, training, load("models", model).Settings(), facts), x)
    while trainer.progress < 1:
        trainer.advance()
    network: nn.Module = trainer.model.double().requires_grad_(False)
    return methods.Method.judged(settings, network, facts), facts, x


def exact_samples(grid: Quadrature, count: int) -> Tensor:
    """Samples of the model, as exact as the grid: a cell by its mass, a point in it evenly."""
    index = torch.multinomial(grid.log_q.exp(), count, replacement=True, generator=stream(0, "cells"))
    side = float(grid.axes[0][1] - grid.axes[0][0])
    return grid.points[index] + side * (torch.rand(count, 2, generator=stream(0, "in"), dtype=torch.float64) - 0.5)


@pytest.mark.parametrize("model", list(LEARNERS))
@pytest.mark.parametrize("dataset", DATASETS)
def test_both_estimates_agree_with_quadrature(dataset: str, model: str) -> None:
    energy, facts, x = trained(dataset, model)
    grid = integrate(energy, facts, SETTINGS.cells)
    assert grid.held
    e = Evaluation(Subject(energy, exact_samples(grid, 400)), x[:1000], None, facts, SETTINGS)
    found = e.annealing
    assert found.reverse is not None
    assert found.forward.share > 0.2
    for side in (found.forward, found.reverse):
        assert side.log_z == pytest.approx(grid.log_z, abs=4 * side.error)
        assert side.log_z == pytest.approx(grid.log_z, abs=0.3)
    # Inside the bracket, up to what its ends are known to.
    assert found.forward.log_z - 3 * found.forward.error < grid.log_z < found.reverse.log_z + 3 * found.reverse.error
    assert not found.crossed
    optimistic, exact = (load("metrics", name).compute(e) for name in ("ais_optimistic", "log_likelihood"))
    assert optimistic.value == pytest.approx(exact.value, abs=4 * found.forward.error)


CENTRES = torch.tensor([[-3.0, 0.0], [3.0, 0.0]])


def two_modes(share: float) -> Mixture:
    """`share` of the mass on the left."""
    return Mixture(CENTRES, torch.tensor([share, 1 - share]), 0.3)


def with_samples_of(share: float) -> Evaluation:
    """A model with 2 % on the left, and samples with another share there; chains cannot cross."""
    model, sampler = two_modes(0.02), two_modes(share)
    facts = Facts("two", [2], 100, 100, [0.0, 0.0], [[9.1, 0.0], [0.0, 0.1]], 2.1, "none", "none")
    subject = Subject(lambda x: 5 - model.log_prob(x), sampler.sample(400, stream(0, "s")), sampler="mala")
    settings = Settings(ais=Annealing(chains=400, temperatures=100))
    return Evaluation(subject, model.sample(500, stream(0, "t")), None, facts, settings)


def test_true_samples_give_a_bracket_that_holds_log_z() -> None:
    found = with_samples_of(0.02).annealing
    assert not found.crossed
    assert found.forward.log_z == pytest.approx(-5, abs=4 * found.forward.error)


# Half of the forward chains end on the left: that is log(½ · ½/0.02 + ½ · ½/0.98), and log(½/0.02).
@pytest.mark.parametrize(("share", "by"), [(0.5, 2.55), (1 - 1e-9, 3.22)])
def test_samples_with_wrong_weights_of_the_modes_cross_the_bracket(share: float, by: float) -> None:
    e = with_samples_of(share)
    gap, error = e.annealing.gap
    assert -gap == pytest.approx(by, abs=4 * error)
    value = load("metrics", "ais_gap").compute(e)
    assert value.value is None
    assert f"crossed by {-gap:.3g} nats" in value.reason
    assert "not the model's" in value.reason
    with pytest.raises(Unavailable, match="crossed"):
        load("metrics", "ais_pessimistic").compute(e)
    assert load("metrics", "ais_optimistic").compute(e).value is not None  # needs no samples


def test_a_lost_mode_that_forward_chains_seldom_find_is_not_seen() -> None:
    """The converse, as the module says: samples of the heavy mode alone widen the gap, and nothing is flagged."""
    found = with_samples_of(1e-9).annealing
    assert not found.crossed
    assert found.gap[0] == pytest.approx(math.log(0.98 / 0.5), abs=4 * found.gap[1])


def test_samples_that_are_too_wide_cross_the_bracket() -> None:
    samples = 0.3 * torch.randn(400, 10, generator=stream(0, "s"), dtype=torch.float64)
    settings, base = Annealing(chains=400, temperatures=30), make_base(gaussian_facts(10), None)
    found = {w: anneal(lambda x: (x / 0.3).square().sum(1) / 2, base, settings, w * samples) for w in (1.0, 2.0)}
    assert not found[1.0].crossed
    assert found[2.0].crossed


NAMES = ("ais_optimistic", "ais_pessimistic", "ais_gap", "ais_ess")


def test_without_samples_the_forward_half_is_there_and_the_rest_says_why() -> None:
    e = with_samples_of(0.02)
    e = Evaluation(Subject(e.subject.energy, None), e.test, None, e.facts, e.settings)
    for name in ("ais_optimistic", "ais_ess"):
        assert load("metrics", name).compute(e).value is not None
    for name in ("ais_pessimistic", "ais_gap"):
        with pytest.raises(Unavailable, match="no samples"):
            load("metrics", name).compute(e)


@pytest.mark.parametrize("name", NAMES)
def test_without_an_energy_there_is_nothing(name: str) -> None:
    e = Evaluation(Subject(None, torch.zeros(9, 2)), torch.zeros(9, 2), None, gaussian_facts(2), Settings())
    with pytest.raises(Unavailable, match="no energy"):
        load("metrics", name).compute(e)


def pixels(x: Tensor) -> Tensor:
    """An energy without confinement, large at the upper end of the box."""
    return 2 * x.flatten(1).sum(1)


def image_evaluation(samples: Tensor, train: Tensor | None = None) -> Evaluation:
    facts = Facts("dots", [1, 2, 3], 100, 100, [-0.5] * 6, [], 0.5, "none", "none", levels=3)
    test = torch.randint(3, (300, 1, 2, 3), generator=stream(0, "t")).float() - 1
    settings = Settings(ais=Annealing(chains=200, temperatures=100))
    return Evaluation(Subject(pixels, samples), test, None, facts, settings, train)


def test_images_are_dequantised_and_their_density_is_that_of_the_box() -> None:
    """log q = −2 Σx − 6 log ∫ exp(−2x) over [−1½, 1½]; the noise has mean zero, so that E at the test set is known."""
    share = torch.rand(400, 1, 2, 3, generator=stream(0, "m"), dtype=torch.float64)
    e = image_evaluation(-1.5 - torch.log1p(-share * (1 - math.exp(-6))) / 2, train=share[:100].float())
    expected = -2 * float(e.test.double().flatten(1).sum(1).mean()) - 6 * math.log(math.sinh(3))
    for name in ("ais_optimistic", "ais_pessimistic"):
        value = load("metrics", name).compute(e)
        assert value.error is not None
        assert value.value == pytest.approx(expected, abs=4 * value.error)
        assert "dequantised" in value.protocol
        assert "box" in value.protocol


def test_samples_outside_the_box_are_no_samples_of_the_model() -> None:
    with pytest.raises(Unavailable, match="0 of 50 samples lie where"):
        load("metrics", "ais_gap").compute(image_evaluation(torch.full((50, 1, 2, 3), 2.0)))


@pytest.mark.usefixtures("untouched_global_generator")
def test_the_four_metrics_share_one_computation_and_repeat_to_the_bit() -> None:
    first, second = with_samples_of(0.02), with_samples_of(0.02)
    values = [load("metrics", name).compute(first) for name in NAMES]
    assert first.annealing is first.annealing
    assert values == [load("metrics", name).compute(second) for name in NAMES]

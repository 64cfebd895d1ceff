"""The bracket of log Z and its metrics: against quadrature on every model in the plane, and with wrong samples."""

import math
from functools import cache
from typing import NamedTuple

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
from ebmbench.metrics.common.annealing import Bracket, Estimate, Path, anneal, pilot, reverse, settle
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


@pytest.mark.parametrize("share", [0.5, 1 - 1e-9])
def test_chains_that_cannot_settle_give_no_reverse_value_but_the_reason(share: float) -> None:
    """Samples with wrong weights of the modes, between which chains do not cross: the forward ends disagree."""
    e = with_samples_of(share)
    assert e.annealing.reverse is None
    for name in ("ais_pessimistic", "ais_gap"):
        with pytest.raises(Unavailable, match=r"^chains have not settled: nested R̂ \d\.\d+, mean energy"):
            load("metrics", name).compute(e)
    assert load("metrics", "ais_optimistic").compute(e).value is not None  # needs no samples


def test_a_lost_mode_that_forward_chains_seldom_find_is_not_seen() -> None:
    """The converse, as the module says: samples of the heavy mode alone widen the gap, and nothing is flagged."""
    found = with_samples_of(1e-9).annealing
    assert not found.crossed
    assert found.gap[0] == pytest.approx(math.log(0.98 / 0.5), abs=4 * found.gap[1])


def test_a_bracket_that_is_crossed_gives_no_value_at_all() -> None:
    """A schedule too short to see: the numbers are made up, the rule is not."""
    e = with_samples_of(0.02)
    low, high = Estimate(-5.0, 0.1, 0.5, 400), Estimate(-4.0, 0.1, 0.5, 400)
    object.__setattr__(e, "__dict__", {**e.__dict__, "annealing": Bracket(high, low, "", "AIS", "chains")})
    value = load("metrics", "ais_gap").compute(e)
    assert value.value is None
    assert "crossed by 1 nats" in value.reason
    for name in ("ais_optimistic", "ais_pessimistic"):
        with pytest.raises(Unavailable, match="crossed"):
            load("metrics", name).compute(e)


def quartic(x: Tensor) -> Tensor:
    return x.pow(4).sum(1)


SCALES = torch.logspace(-1, 0.5, 10, dtype=torch.float64)
LIGHT = torch.tensor([-2.0, 0.0], dtype=torch.float64)
MODES = Mixture(torch.stack([LIGHT, -LIGHT]), torch.tensor([0.05, 0.95]), 0.7)


class Known(NamedTuple):
    """An energy with its constant, data of which the base has its moments, and where cold samples lie."""

    energy: Energy
    log_z: float
    covariance: Tensor
    coldest: Tensor


KNOWN = {
    "gaussian in 2": Known(lambda x: x.square().sum(1) / 2, math.log(2 * math.pi), torch.eye(2), torch.zeros(2)),
    "gaussian in 64": Known(
        lambda x: x.square().sum(1) / 2, 32 * math.log(2 * math.pi), torch.eye(64), torch.zeros(64)
    ),
    "anisotropic": Known(
        lambda x: (x / SCALES).square().sum(1) / 2,
        5 * math.log(2 * math.pi) + float(SCALES.log().sum()),
        SCALES.square().diag(),
        torch.zeros(10),
    ),
    "two modes": Known(lambda x: 5 - MODES.log_prob(x), -5, torch.diag(torch.tensor([4.49, 0.49])), LIGHT),
    # ∫ exp(−x⁴) dx = 2 Γ(5/4), ∫ x² exp(−x⁴) dx = Γ(3/4)/2.
    "quartic": Known(
        quartic,
        8 * math.log(2 * math.gamma(1.25)),
        math.gamma(0.75) / 4 / math.gamma(1.25) * torch.eye(8),
        torch.zeros(8),
    ),
}


def cold_start(known: Known) -> tuple[Path, Annealing, Tensor]:
    """Chains at temperature 10⁻⁴ about a minimum of the energy."""
    d = len(known.coldest)
    facts = Facts("known", [d], 9, 9, [0.0] * d, known.covariance.double().tolist(), 1.0, "none", "none")
    noise = torch.randn(200, d, generator=stream(0, "cold"), dtype=torch.float64)
    samples = known.coldest + 0.01 * noise @ torch.linalg.cholesky(known.covariance.double()).mT
    return Path(known.energy, make_base(facts, None)), Annealing(chains=200, temperatures=50, settle=200), samples


@pytest.mark.parametrize("name", list(KNOWN))
def test_from_cold_samples_chains_settle_and_the_bracket_holds_the_known_constant(name: str) -> None:
    known = KNOWN[name]
    path, settings, samples = cold_start(known)
    found = anneal(known.energy, path.base, settings, samples)
    assert found.reverse is not None, found.missing
    assert not found.crossed
    assert found.forward.log_z - 3 * found.forward.error < known.log_z < found.reverse.log_z + 3 * found.reverse.error
    assert found.gap[0] < 4 * found.gap[1] + 0.01


def test_straight_from_cold_samples_the_bracket_was_crossed_or_wide() -> None:
    gaps = {}
    for name in ("gaussian in 64", "two modes"):
        path, settings, samples = cold_start(KNOWN[name])
        schedule = pilot(path, settings, stream(0, "ais", "pilot"))
        back = reverse(path, schedule, path.base.coordinates(samples), stream(0, "ais", "reverse"))
        gaps[name] = Estimate.of(back, sign=-1).log_z - KNOWN[name].log_z
    assert gaps["two modes"] < -1
    assert gaps["gaussian in 64"] > 2


def test_chains_that_do_not_move_have_not_settled() -> None:
    known = KNOWN["gaussian in 2"]
    path, _, samples = cold_start(known)
    y = path.base.coordinates(samples).reshape(2, 100, 2)
    frozen = settle(path, torch.stack([y[0], y[1] + 1]), 20, 1e-9, stream(0, "settle"))
    assert not frozen.settled
    assert settle(path, torch.stack([y[0], y[1] + 1]), 200, 0.8, stream(0, "settle")).settled


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


def test_samples_outside_the_box_settle_inside() -> None:
    value = load("metrics", "ais_gap").compute(image_evaluation(torch.full((50, 1, 2, 3), 2.0)))
    assert value.value is not None
    assert abs(value.value) < 4 * value.error


@pytest.mark.usefixtures("untouched_global_generator")
def test_the_four_metrics_share_one_computation_and_repeat_to_the_bit() -> None:
    first, second = with_samples_of(0.02), with_samples_of(0.02)
    values = [load("metrics", name).compute(first) for name in NAMES]
    assert first.annealing is first.annealing
    assert values == [load("metrics", name).compute(second) for name in NAMES]

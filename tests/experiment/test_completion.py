"""Clamped chains: the known part stays, and the rest is drawn given it."""

from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.config.sections import Sampling
from ebmbench.core.binary import states
from ebmbench.core.streams import stream
from ebmbench.experiment.pictures import COMPLETIONS as FILE
from ebmbench.experiment.pictures import draw_model
from ebmbench.experiment.recording import COMPLETED, COMPLETIONS, run_clamped, upper_half
from ebmbench.experiment.samples import complete
from ebmbench.metrics.common.evaluation import Evaluation, Subject
from ebmbench.models import rbm
from ebmbench.samplers import annealed_langevin, block_gibbs, langevin, mala
from tests.conftest import binary_facts
from tests.experiment.test_samples import DATA, LANGEVIN, SAMPLING, Levels, trained
from tests.images import image_facts

CORRELATION = 0.8


def correlated(x: Tensor) -> Tensor:
    """Two pixels, one above the other: a Gaussian of variance 1 and this correlation."""
    a, b = x.flatten(1).T
    return 0.5 * (a.square() - 2 * CORRELATION * a * b + b.square()) / (1 - CORRELATION**2)


SAMPLERS = [langevin.Settings(steps=300, step_size=0.02), mala.Settings(steps=300, step_size=0.1)]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=["langevin", "mala"])
def test_what_is_drawn_is_distributed_as_given_the_known_part(sampler: Any) -> None:
    """b given a is N(ρa, 1 − ρ²). MALA accepts the pair, so it is only nearly so."""
    x = torch.zeros(4000, 1, 2, 1)
    x[:, 0, 0] = 1.5
    drawn = run_clamped(sampler, correlated, x, upper_half(x), stream(0, "chain"))
    assert torch.equal(drawn[:, 0, 0], x[:, 0, 0])
    b, near = drawn[:, 0, 1, 0], 0.03 if sampler.kind == "langevin" else 0.15
    assert b.mean().item() == pytest.approx(CORRELATION * 1.5, abs=near)
    assert b.var().item() == pytest.approx(1 - CORRELATION**2, abs=near)


def test_clamped_gibbs_draws_from_the_conditional_distribution() -> None:
    facts = binary_facts(1, 2, 2)
    machine = rbm.Model(rbm.Settings(hidden=3), facts).initialise(stream(0, "weights")).double()
    with torch.no_grad():
        machine.weight.copy_(2 * torch.randn(machine.weight.shape, generator=stream(1, "weights")))
    machine.requires_grad_(False)
    x = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64).reshape(1, 1, 2, 2).expand(20_000, -1, -1, -1)
    drawn = run_clamped(block_gibbs.Settings(steps=30), machine, x, upper_half(x), stream(0, "chain"))
    assert torch.equal(drawn[:, :, 0], x[:, :, 0])
    whole = states(4).reshape(-1, 1, 2, 2)
    fits = (whole[:, 0, 0] == x[0, 0, 0]).all(1)
    exact = (-machine(whole)[fits]).softmax(0)
    found = torch.stack([(drawn == one).flatten(1).all(1).double().mean() for one in whole[fits]])
    assert (found - exact).abs().max() < 0.02
    assert exact.max() < 0.95


def test_along_a_ladder_the_known_half_carries_the_noise_of_its_level() -> None:
    """The network sees the known half with deviation σ at each level, and it is put back clean."""
    seen: list[tuple[float, float]] = []

    class Watching(Levels):
        def given(self, sigma: Tensor) -> Any:
            level = super().given(sigma)
            inner = level.score

            def score(x: Tensor, create_graph: bool = False) -> Tensor:
                seen.append((float(sigma[0]), float(x[:, :, 0].std())))
                return inner(x)

            level.score = score
            return level

    x = torch.zeros(4000, 1, 2, 2, dtype=torch.float64)
    ladder = annealed_langevin.Settings(steps=1, step_size=1e-9, levels=4, sigma_max=2.0, sigma_min=0.25, denoise=True)
    drawn = run_clamped(ladder, Watching(), x, upper_half(x), stream(0, "chain"))
    assert torch.equal(drawn[:, :, 0], x[:, :, 0])
    firsts = dict(reversed(seen))
    before = [2.0, *sorted(firsts, reverse=True)[:-1]]  # each level starts with the noise of the one before
    assert len(firsts) == 4
    for sigma, width in zip(sorted(firsts, reverse=True), before, strict=True):
        assert firsts[sigma] == pytest.approx(width, rel=0.05)


def test_a_sampler_that_cannot_be_stopped_at_each_step_completes_nothing() -> None:
    x = torch.zeros(2, 1, 2, 1)
    hot = annealed_langevin.Settings(steps=2, levels=3, sigma_max=1.0, sigma_min=0.5)
    assert run_clamped(hot, correlated, x, upper_half(x), stream(0, "chain")) is None


def test_a_trained_model_completes_the_first_test_images_several_times() -> None:
    model = trained("mle", model="tiny", sampler=LANGEVIN, buffer=20)
    drawn = complete(model, SAMPLING.model_copy(update={"kinds": ["short"]}), DATA)
    assert drawn.shape == (COMPLETED, COMPLETIONS, 1, 8, 8)
    assert torch.equal(drawn[:, :, :, :4], DATA[:COMPLETED, None, :, :4].expand(-1, COMPLETIONS, -1, -1, -1))
    lower = drawn[:, :, :, 4:]
    assert not torch.equal(lower[:, 0], lower[:, 1])
    again = complete(model, SAMPLING.model_copy(update={"kinds": ["short"]}), DATA)
    assert torch.equal(drawn, again)
    assert complete(model, SAMPLING.model_copy(update={"kinds": ["data"]}), DATA) is None


@pytest.mark.parametrize("name", ["rbm", "dbm"])
def test_machines_complete_black_and_white_images_with_or_without_deep_units(name: str) -> None:
    facts, module = binary_facts(1, 4, 4), load("models", name)
    machine = module.Model(module.Settings(**module.EXAMPLE), facts).initialise(stream(0, "weights"))
    machine.requires_grad_(False)
    x = (torch.rand(6, 1, 4, 4, generator=stream(0, "x")) < 0.5).float()
    drawn = run_clamped(block_gibbs.Settings(steps=5), machine, x, upper_half(x), stream(0, "chain"))
    assert drawn.shape == x.shape
    assert torch.equal(drawn[:, :, :2], x[:, :, :2])
    assert set(drawn.unique().tolist()) <= {0.0, 1.0}
    arrays = {FILE: drawn.reshape(3, 2, 1, 4, 4).numpy()}
    evaluation = Evaluation(Subject(None, None), x, None, facts, Sampling())  # type: ignore[arg-type]
    assert set(draw_model({"": evaluation}, "a", arrays)["completed:a"].flatten().tolist()) <= {0, 255}


def test_completions_of_grey_images_are_drawn_as_they_are() -> None:
    x = DATA[:4].reshape(2, 2, 1, 8, 8).numpy()
    evaluation = Evaluation(Subject(None, None), DATA, None, image_facts(), Sampling())  # type: ignore[arg-type]
    found = draw_model({"": evaluation}, "a", {FILE: x})
    assert set(found) == {"completed:a"}
    assert found["completed:a"].shape == (2, 2, 1, 8, 8)

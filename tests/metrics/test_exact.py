"""Metrics against closed forms: two Gaussians, whose divergences are known."""

import math
from dataclasses import replace

import pytest
import torch

from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable
from ebmbench.metrics.common.quadrature import integrate
from tests.conftest import gaussian_facts

S = 1.3  # the model's deviation; the data's is 1


def normal(deviation: float) -> Mixture:
    return Mixture(torch.zeros(1, 2), torch.ones(1), deviation)


def evaluation(deviation: float = S, density: bool = True, count: int = 4000) -> Evaluation:
    model, truth = normal(deviation), normal(1.0)
    # An unnormalised energy: the constant must not matter.
    subject = Subject(lambda x: 3.0 - model.log_prob(x), model.sample(count, stream(0, "model")), truth, {"c": -3.0})
    test = truth.sample(count, stream(0, "test"))
    return Evaluation(subject, test, truth if density else None, gaussian_facts(2), Settings(cells=256, block=500))


def value(name: str, e: Evaluation) -> float:
    found = load("metrics", name).compute(e).value
    assert found is not None
    return found


def test_kl_both_ways_are_those_of_two_gaussians() -> None:
    expected = 2 * math.log(S) + 1 / S**2 - 1
    assert value("kl", evaluation()) == pytest.approx(expected, abs=1e-8)
    assert value("kl_target", evaluation()) == pytest.approx(expected, abs=1e-8)
    assert value("reverse_kl", evaluation()) == pytest.approx(S**2 - 1 - 2 * math.log(S), abs=1e-6)


def test_total_variation_is_that_of_two_gaussians() -> None:
    r2 = 4 * math.log(S) / (1 - 1 / S**2)  # where the densities cross
    expected = math.exp(-r2 / (2 * S**2)) - math.exp(-r2 / 2)
    assert value("total_variation", evaluation()) == pytest.approx(expected, abs=1e-4)


def test_off_support_is_the_tail_beyond_the_threshold() -> None:
    radius2 = 2 * math.log(1000)
    assert value("off_support", evaluation()) == pytest.approx(math.exp(-radius2 / (2 * S**2)), rel=0.01)


def test_the_relative_fisher_divergence_of_a_scaled_gaussian() -> None:
    assert value("fisher", evaluation()) == pytest.approx((1 - 1 / S**2) ** 2, abs=1e-10)


def test_log_z_and_the_learned_constant() -> None:
    e = evaluation()
    assert e.grid.log_z == pytest.approx(-3.0, abs=1e-8)
    assert value("log_z_error", e) == pytest.approx(0, abs=1e-8)


def test_likelihood_and_gap_agree_with_the_divergence_within_their_error() -> None:
    gap = load("metrics", "oracle_gap").compute(evaluation())
    assert gap.value == pytest.approx(2 * math.log(S) + 1 / S**2 - 1, abs=4 * gap.error)
    likelihood = load("metrics", "log_likelihood").compute(evaluation())
    assert likelihood.value == pytest.approx(-math.log(2 * math.pi * S**2) - 1 / S**2, abs=4 * likelihood.error)


def test_mmd_sees_a_difference_and_its_error_is_honest() -> None:
    wide = load("metrics", "mmd").compute(evaluation())
    assert wide.value > 5 * wide.error
    same = load("metrics", "mmd").compute(evaluation(1.0, count=20_000))
    assert abs(same.value) < 4 * same.error


def test_mmd_is_unbiased_and_symmetric() -> None:
    from ebmbench.metrics.mmd import mmd_squared, within

    x, y = (torch.randn(50, 2, generator=stream(seed, "x"), dtype=torch.float64) for seed in (0, 1))
    of_x, of_y = within(x, 1.0), within(y, 1.0)
    assert mmd_squared(x, y, of_y, 1.0).item() == pytest.approx(mmd_squared(y, x, of_x, 1.0).item())
    assert mmd_squared(x, x, of_x, 1.0).item() < 0  # an unbiased estimate must be able to be negative


def test_a_lost_mode_shows_in_density_and_sampler() -> None:
    centres = torch.tensor([[-5.0, 0.0], [5.0, 0.0]])
    truth, lost = Mixture(centres, torch.tensor([0.2, 0.8]), 1.0), Mixture(centres, torch.tensor([1e-9, 1.0]), 1.0)
    subject = Subject(lambda x: -lost.log_prob(x), lost.sample(4000, stream(0, "s")), truth)
    e = Evaluation(subject, truth.sample(4000, stream(0, "t")), truth, gaussian_facts(2, 3.0), Settings(cells=256))
    assert value("mode_density", e) == pytest.approx(0.2, abs=1e-6)
    assert value("mode_sampler", e) == pytest.approx(0.2, abs=1e-3)


def split(weights: list[float], deviation: float) -> tuple[float, float, float]:
    """kl, kl_weights and kl_within of a model with other weights of two distant modes, or wider ones."""
    centres = torch.tensor([[-5.0, 0.0], [5.0, 0.0]])
    truth, model = Mixture(centres, torch.tensor([0.2, 0.8]), 1.0), Mixture(centres, torch.tensor(weights), deviation)
    subject = Subject(lambda x: 3.0 - model.log_prob(x), None, truth)
    e = Evaluation(subject, torch.zeros(1, 2), truth, gaussian_facts(2, 3.0), Settings(cells=256))
    return value("kl", e), value("kl_weights", e), value("kl_within", e)


@pytest.mark.parametrize("weights", [[0.2, 0.8], [0.5, 0.5], [1e-200, 1.0]])
@pytest.mark.parametrize("deviation", [1.0, S])
def test_kl_is_the_sum_of_its_parts_and_each_sees_its_own_error_alone(weights: list[float], deviation: float) -> None:
    whole, of_weights, within = split(weights, deviation)
    assert of_weights + within == pytest.approx(whole, abs=1e-10)
    expected = sum(p * math.log(p / q) for p, q in zip((0.2, 0.8), weights, strict=True))
    # Modes five deviations from the border between them lose 10⁻⁶ of their mass to the other one; wider ones 10⁻⁴.
    if weights[0] > 0.1:
        assert of_weights == pytest.approx(expected, abs=1e-4)
        assert within == pytest.approx(2 * math.log(deviation) + 1 / deviation**2 - 1, abs=1e-3)
    if deviation == 1.0 and weights[0] > 0.1:
        assert within == pytest.approx(0, abs=1e-5)
    if weights[0] < 0.1:
        assert of_weights > 1


def test_a_mass_that_is_not_quite_one_makes_no_weights_negative() -> None:
    """A flow's density is not divided by what the grid makes of its mass, here 1.003."""
    centres = torch.tensor([[-5.0, 0.0], [5.0, 0.0]])
    truth = Mixture(centres, torch.tensor([0.2, 0.8]), 1.0)
    e = Evaluation(
        Subject(lambda x: -truth.log_prob(x), None), torch.zeros(1, 2), truth, gaussian_facts(2, 3.0), Settings()
    )
    vars(e)["grid"] = replace(e.grid, log_q=e.grid.log_q + math.log(1.003))
    assert value("kl_weights", e) == pytest.approx(0, abs=1e-10)
    assert value("kl_within", e) == pytest.approx(value("kl", e), abs=1e-10)


@pytest.mark.parametrize("name", ["eight_gaussians", "two_moons", "checkerboard", "unbalanced"])
def test_kl_is_split_only_where_the_data_have_separate_modes(name: str) -> None:
    truth, facts = load("data", name).density(), gaussian_facts(2, 3.0)
    wide = truth.smoothed(0.3)
    e = Evaluation(Subject(lambda x: -wide.log_prob(x), None), torch.zeros(1, 2), truth, facts, Settings(cells=512))
    if name == "two_moons":
        with pytest.raises(Unavailable, match=r"no separate modes: .* 80 centres"):
            load("metrics", "kl_weights").compute(e)
    else:
        assert value("kl_weights", e) + value("kl_within", e) == pytest.approx(value("kl", e), abs=1e-10)
        assert value("kl_weights", e) < 1e-3 < value("kl_within", e)


def test_samples_that_are_not_finite_are_named_not_dropped() -> None:
    e = evaluation()
    samples = e.subject.samples.clone()
    samples[7] = float("nan")
    broken = Evaluation(Subject(None, samples), e.test, e.density, e.facts, e.settings)
    with pytest.raises(Unavailable, match="1 of 4000 samples are not finite"):
        load("metrics", "mmd").compute(broken)


def test_the_grid_grows_until_it_holds_the_mass() -> None:
    wide = normal(3.0)
    grid = integrate(lambda x: -wide.log_prob(x), gaussian_facts(2), 256)
    assert grid.held
    assert float(grid.axes[0].max()) > 8
    assert grid.log_z == pytest.approx(0, abs=1e-6)


def test_a_grid_that_cannot_hold_the_mass_says_so() -> None:
    flat = integrate(lambda x: x.norm(dim=1) * 1e-3, gaussian_facts(2), 64)
    assert not flat.held
    far = Subject(lambda x: x.norm(dim=1) * 1e-3, None)
    e = Evaluation(far, torch.zeros(10, 2), normal(1.0), gaussian_facts(2), Settings(cells=64))
    with pytest.raises(Unavailable, match="no grid holds the model's mass"):
        load("metrics", "kl").compute(e)


def test_a_grid_that_misses_data_is_not_used() -> None:
    far = Mixture(torch.tensor([[0.0, 0.0], [40.0, 0.0]]), torch.tensor([0.99, 0.01]), 1.0)
    e = evaluation()
    with pytest.raises(Unavailable, match=r"sums to 0\.99"):
        load("metrics", "kl").compute(Evaluation(e.subject, e.test, far, e.facts, e.settings))


def test_the_samplers_mode_weights_need_no_grid_of_the_model() -> None:
    e = evaluation()
    flat = Subject(lambda x: x.norm(dim=1) * 1e-3, e.subject.samples)
    assert value("mode_sampler", Evaluation(flat, e.test, e.density, e.facts, e.settings)) < 0.05

"""Samplers against closed forms: Gaussians, an exact table of spins, and each other."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from ebmbench.core.energy import energy_and_score
from ebmbench.core.streams import stream
from ebmbench.samplers import gibbs, hmc, independence, jumping, langevin, mala, momentum, random_walk
from ebmbench.samplers.common.chain import SamplerSettings

COVARIANCE = torch.tensor([[1.0, 0.8], [0.8, 1.0]], dtype=torch.float64)
ROOT = torch.linalg.cholesky(COVARIANCE)
PRECISION = torch.linalg.inv(COVARIANCE)
# At η = 0.3 unadjusted Langevin has 1.6 times the variance along the narrow axis: 1/(1 − η/4λ) with λ = 0.2.
EXACT: dict[str, SamplerSettings] = {
    "mala": mala.Settings(steps=100, step_size=0.3),
    "mala, short drift": mala.Settings(steps=150, step_size=0.3, truncation=0.2),
    "mala, adaptive": mala.Settings(steps=150, step_size=0.01, target_acceptance=0.574),
    "hmc": hmc.Settings(steps=50, step_size=0.3, leapfrog=3),
    "random walk": random_walk.Settings(steps=250, step_size=0.6),
    "independence": independence.Settings(steps=100, width=1.5, centre=[0.3, 0.0]),
    "jumping": jumping.Settings(steps=30, jumps=4, step_size=0.3, centre=[0.3, 0.0], covariance=[[1.0, 0], [0, 0.6]]),
}


def gaussian(x: Tensor) -> Tensor:
    return 0.5 * torch.einsum("bi,ij,bj->b", x, PRECISION, x)


def draws(count: int, *event: int) -> Tensor:
    return torch.randn(count, *event, generator=stream(0, "x"), dtype=torch.float64)


def errors(x: Tensor) -> tuple[float, float]:
    """The largest error of the mean and of the covariance, in units in which the target is a standard normal."""
    white = torch.linalg.solve_triangular(ROOT, x.T, upper=False)
    return float(white.mean(1).abs().max()), float((white.cov() - torch.eye(2)).abs().max())


@pytest.mark.parametrize("name", list(EXACT))
def test_a_correlated_gaussian_stays_in_place_at_a_large_step(name: str) -> None:
    chain = EXACT[name].model_copy(update={"steps": 40}).run(gaussian, draws(20_000, 2) @ ROOT.T, stream(0, "chain"))
    assert 0.1 < chain.diagnostics["acceptance"] < 0.97
    assert max(errors(chain.x)) < 0.035


def test_unadjusted_langevin_is_off_at_that_step() -> None:
    chain = langevin.Settings(steps=40, step_size=0.3).run(gaussian, draws(20_000, 2) @ ROOT.T, stream(0, "chain"))
    assert errors(chain.x)[1] > 0.2
    narrow = (chain.x @ torch.tensor([1.0, -1.0], dtype=torch.float64) / math.sqrt(2)).var()
    assert abs(narrow / 0.2 - 1.6) < 0.05


def test_with_full_friction_momentum_is_langevin() -> None:
    x, v = draws(50, 2), torch.ones(50, 2, dtype=torch.float64)
    found = momentum.momentum_langevin(gaussian, x, v, 30, 0.1, 1.0, stream(0, "chain")).x
    plain = langevin.Settings(steps=30, step_size=0.1).run(gaussian, x, stream(0, "chain")).x
    torch.testing.assert_close(found, plain, rtol=0, atol=1e-12)
    less = momentum.momentum_langevin(gaussian, x, v, 30, 0.1, 0.9, stream(0, "chain")).x
    assert (less - plain).abs().max() > 0.1


@pytest.mark.parametrize("friction", [0.1, 0.5, 1.0])
def test_the_stationary_variance_of_momentum_is_known(friction: float) -> None:
    """λ/(1 − η/4λ(2 − α)), at a step where that is far from λ; 100 000 chains err by 0.5 %."""
    settings = momentum.Settings(steps=150, step_size=0.3, friction=friction)
    chain = settings.run(gaussian, draws(100_000, 2) @ ROOT.T, stream(0, "chain"))
    for axis, variance in (([1.0, -1.0], 0.2), ([1.0, 1.0], 1.8)):
        found = (chain.x @ torch.tensor(axis, dtype=torch.float64) / math.sqrt(2)).var()
        assert found / variance == pytest.approx(1 / (1 - 0.3 / (4 * variance * (2 - friction))), rel=0.02)


def test_momentum_starts_with_its_stationary_law() -> None:
    """One step from the target with a tiny step size: x moves by v alone, whose variance is η/(2 − α)."""
    x = draws(20_000, 2) @ ROOT.T
    moved = momentum.Settings(steps=1, step_size=1e-4, friction=0.1).run(gaussian, x, stream(0, "chain")).x - x
    assert moved.var().item() == pytest.approx(1e-4 / 1.9, rel=0.03)


@pytest.mark.parametrize("name", list(EXACT))
def test_chains_that_start_elsewhere_come_to_the_target(name: str) -> None:
    far = torch.tensor([3.0, -2.0], dtype=torch.float64).expand(5_000, 2)
    assert max(errors(EXACT[name].run(gaussian, far, stream(0, "chain")).x)) < 0.07


def test_one_independent_proposal_around_another_place_leaves_the_target() -> None:
    settings = independence.Settings(steps=1, width=1.5, centre=[1.5, -0.5])
    assert max(errors(settings.run(gaussian, draws(20_000, 2) @ ROOT.T, stream(0, "chain")).x)) < 0.035


@pytest.mark.parametrize("step_size", [1e-3, 0.3, 30.0])
def test_mala_finds_the_step_size_of_its_target_acceptance(step_size: float) -> None:
    settings = mala.Settings(steps=200, step_size=step_size, target_acceptance=0.574)
    found = settings.run(gaussian, draws(1_000, 2) @ ROOT.T, stream(0, "chain")).diagnostics
    assert abs(found["acceptance"] - 0.574) < 0.03
    assert abs(found["step_size"].log() - math.log(0.69)) < 0.05  # one η, wherever it starts


def test_adaptive_mala_without_warmup_is_mala() -> None:
    x, settings = draws(50, 2), mala.Settings(steps=30, step_size=0.3)
    adaptive = settings.model_copy(update={"target_acceptance": 0.9, "warmup": 0.0})
    ours = adaptive.run(gaussian, x, stream(0, "chain"))
    torch.testing.assert_close(ours.x, settings.run(gaussian, x, stream(0, "chain")).x, rtol=0, atol=1e-12)
    torch.testing.assert_close(ours.diagnostics["step_size"].item(), 0.3)


def test_hmc_with_one_leapfrog_step_is_mala_without_truncation() -> None:
    x = draws(200, 2)
    one = hmc.Settings(steps=30, step_size=0.4, leapfrog=1).run(gaussian, x, stream(0, "chain"))
    other = mala.Settings(steps=30, step_size=0.4, truncation=1e9).run(gaussian, x, stream(0, "chain"))
    torch.testing.assert_close(one.x, other.x, rtol=0, atol=1e-11)
    for key in ("acceptance", "gradient_norm", "last_gradient_norm"):
        torch.testing.assert_close(one.diagnostics[key], other.diagnostics[key])


def quartic(x: Tensor) -> Tensor:
    return (0.25 * x.pow(4) + 0.5 * x.square()).flatten(1).sum(1) + x[:, 0] * x[:, 1]


def test_leapfrog_runs_backwards() -> None:
    x, momentum = draws(50, 2), draws(50, 2).flip(0)
    start = hmc.State(x, *energy_and_score(quartic, x))
    end, momentum_end = hmc.leapfrog(quartic, start, momentum, 0.1, 20)
    back, momentum_back = hmc.leapfrog(quartic, end, -momentum_end, 0.1, 20)
    assert (end.x - x).abs().max() > 0.5
    torch.testing.assert_close(back.x, x, rtol=0, atol=1e-12)
    torch.testing.assert_close(momentum_back, -momentum, rtol=0, atol=1e-12)


def test_the_energy_error_of_leapfrog_falls_as_the_square_of_its_step() -> None:
    x, momentum = draws(500, 2), draws(500, 2).flip(0)
    start, sizes, lost = hmc.State(x, *energy_and_score(quartic, x)), [0.1, 0.05, 0.025, 0.0125], []
    for epsilon in sizes:
        end, momentum_end = hmc.leapfrog(quartic, start, momentum, epsilon, round(1 / epsilon))
        kinetic = 0.5 * (momentum_end.square() - momentum.square()).sum(1)
        lost.append(float((end.e - start.e + kinetic).square().mean().sqrt()))
    slopes = [math.log2(a / b) for a, b in itertools.pairwise(lost)]
    assert all(abs(slope - 2) < 0.1 for slope in slopes), slopes


# Beigy's Boltzmann machine: units ±1, each pair once.
WEIGHTS = torch.tensor([[0.0, -1.0, -1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
BIAS = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
STATES = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=3)), dtype=torch.float64)


def boltzmann(x: Tensor) -> Tensor:
    return -torch.einsum("bi,ij,bj->b", x, WEIGHTS, x) - x @ BIAS


TABLE = torch.softmax(-boltzmann(STATES), 0)


def index(x: Tensor) -> Tensor:
    """The row of STATES that each state is."""
    return ((x + 1) / 2 @ torch.tensor([4.0, 2.0, 1.0], dtype=torch.float64)).long()


def sweep() -> Tensor:
    """Gibbs's transition matrix, row to column: one unit after the other."""
    whole = torch.eye(8, dtype=torch.float64)
    for unit in range(3):
        other = gibbs.flip_unit(STATES, unit)
        one = gibbs.conditional(STATES[:, unit], boltzmann(STATES), boltzmann(other))
        stay, single = torch.where(STATES[:, unit] > 0, one, 1 - one), torch.zeros(8, 8, dtype=torch.float64)
        single[range(8), range(8)], single[range(8), index(other)] = stay, 1 - stay
        torch.testing.assert_close(TABLE[:, None] * single, (TABLE[:, None] * single).T, rtol=0, atol=1e-14)
        whole = whole @ single
    return whole


def test_the_boltzmann_machine_has_the_published_table() -> None:
    on, off = STATES[:, 0] > 0, STATES[:, 1] < 0
    assert abs((-boltzmann(STATES)).exp().sum() - 172.42019) < 1e-5
    assert abs(TABLE[on].sum() - 0.134680) < 1e-6
    assert abs(TABLE[on & off].sum() / TABLE[off].sum() - 0.979679) < 1e-6


def test_a_gibbs_sweep_leaves_the_table_in_place() -> None:
    torch.testing.assert_close(TABLE @ sweep(), TABLE, rtol=0, atol=1e-12)


def test_gibbs_takes_the_transitions_of_its_matrix_and_comes_to_the_table() -> None:
    x, expected = STATES.repeat_interleave(20_000, 0), sweep()
    ends = index(gibbs.Settings(steps=1).run(boltzmann, x, stream(0, "chain")).x).reshape(8, -1)
    found = torch.stack([row.bincount(minlength=8) for row in ends]) / 20_000
    assert (found - expected).abs().max() < 4 * 0.5 / math.sqrt(20_000)
    chain = gibbs.Settings(steps=300).run(boltzmann, x[::16], stream(0, "chain"))
    assert (index(chain.x).bincount(minlength=8) / 10_000 - TABLE).abs().max() < 4 * 0.35 / math.sqrt(10_000)


def test_gibbs_counts_the_flips_of_its_matrix() -> None:
    flips = (sweep() * (STATES[:, None] != STATES).sum(-1)).sum(1) @ TABLE / 3
    started = STATES[torch.multinomial(TABLE, 20_000, replacement=True, generator=stream(0, "states"))]
    settled = gibbs.Settings(steps=5).run(boltzmann, started, stream(0, "chain")).diagnostics["flips"]
    assert abs(settled - flips) < 0.005

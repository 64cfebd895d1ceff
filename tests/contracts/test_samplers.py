"""Every registered sampler keeps one signature and leaves the world as it was."""

import pytest
import torch

from ebmbench.core.registry import describe, load, names
from ebmbench.core.streams import stream
from tests.conftest import gaussian_facts

SAMPLERS = names("samplers")
pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def energy(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x.flatten(1).square().sum(1)


def run(name: str, x: torch.Tensor, seed: int = 0, **more: float):
    settings = load("samplers", name).Settings(**{"steps": 5, "step_size": 0.1, **more})
    return settings.run(energy, x, stream(seed, "chain"))


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("shape", [(6, 2), (6, 1, 3, 3)])
def test_chains_keep_their_shape_and_carry_no_gradient(name: str, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, generator=stream(0, "x"))
    before = x.clone()
    chain = run(name, x)
    assert chain.x.shape == x.shape
    assert not chain.x.requires_grad
    assert torch.equal(x, before)
    assert not torch.equal(chain.x, x)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_stream_alone_decides(name: str) -> None:
    x = torch.randn(6, 2, generator=stream(0, "x"))
    assert torch.equal(run(name, x).x, run(name, x).x)
    assert not torch.equal(run(name, x).x, run(name, x, seed=1).x)


@pytest.mark.parametrize("name", SAMPLERS)
def test_diagnostics_are_finite_scalars(name: str) -> None:
    chain = run(name, torch.ones(6, 2))
    assert "gradient_norm" in chain.diagnostics
    assert all(value.shape == () and torch.isfinite(value) for value in chain.diagnostics.values())


@pytest.mark.parametrize("name", SAMPLERS)
def test_scaling_the_settings_is_scaling_the_data(name: str) -> None:
    settings = load("samplers", name).Settings(steps=5, step_size=0.1)
    x = torch.randn(6, 2, generator=stream(0, "x"), dtype=torch.float64)
    plain = settings.run(energy, x, stream(0, "chain")).x
    wide = settings.fitted(gaussian_facts(2, scale=3.0)).run(lambda y: energy(y / 3.0), 3.0 * x, stream(0, "chain")).x
    torch.testing.assert_close(wide, 3.0 * plain)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_standard_normal_stays_in_place(name: str) -> None:
    x = torch.randn(20_000, 2, generator=stream(0, "x"), dtype=torch.float64)
    # Unadjusted Langevin has a bias of order η/4 in the variance: small steps for all, so that one bound serves.
    settings = load("samplers", name).Settings(steps=50, step_size=0.02)
    chain = settings.run(energy, x, stream(0, "chain"))
    assert chain.x.mean(0).abs().max() < 0.03
    assert (chain.x.var(0) - 1).abs().max() < 0.04


@pytest.mark.parametrize("name", SAMPLERS)
def test_it_cites_a_paper(name: str) -> None:
    assert len(describe("samplers", name).paper) > 20


def test_mala_is_exact_where_unadjusted_langevin_is_not() -> None:
    x = torch.randn(20_000, 1, generator=stream(0, "x"), dtype=torch.float64)
    variance = {}
    for name in ("mala", "langevin"):
        chain = load("samplers", name).Settings(steps=30, step_size=1.0).run(energy, x, stream(0, "chain"))
        variance[name] = float(chain.x.var())
    assert abs(variance["mala"] - 1) < 0.03
    assert abs(variance["langevin"] - 4 / 3) < 0.04  # x ← x/2 + ε has variance 1/(1 − 1/4)


def test_mala_leaves_a_steep_slope_instead_of_freezing_there() -> None:
    steep = torch.full((100, 2), 50.0, dtype=torch.float64)
    settings = load("samplers", "mala").Settings(steps=300, step_size=0.5)
    quartic = settings.run(lambda x: x.pow(4).sum(1), steep, stream(0, "chain"))
    assert quartic.x.norm(dim=1).max() < 10

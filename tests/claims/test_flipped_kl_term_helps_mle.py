"""The KL term beside mle: the matrix is a Langevin step, the term pulls chains to the model, ratios are told."""

import numpy as np
import pytest
import torch

from ebmbench.claims import flipped_kl_term_helps_mle as claim
from ebmbench.claims.testing.finite_states import kl
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.samplers import langevin

FINE = claim.STEP_SIZES["fine"]


def weights(size: float = 0.5) -> torch.Tensor:
    return size * torch.randn(claim.SETS, len(claim.CENTRES), generator=stream(0, "w"), dtype=torch.float64)


def energy_of(w: torch.Tensor) -> Energy:
    """The same energy at any place."""

    def energy(x: torch.Tensor) -> torch.Tensor:
        bumps = torch.exp(-((x - claim.CENTRES) ** 2) / (2 * claim.WIDTH**2))
        return bumps @ w + x[:, 0] ** 2 / 18

    return energy


def test_the_matrix_is_a_step_of_the_sampler() -> None:
    w = weights()
    on_grid = energy_of(w[0])(claim.GRID[:, None])
    assert torch.allclose(claim.energy(w)[0], on_grid)
    kernel = claim.langevin_kernel(w, 0.1)[0]
    for place in (40, 75):
        starts = claim.GRID[place].expand(100_000, 1)
        ends = langevin.Settings(steps=1, step_size=0.1).run(energy_of(w[0]), starts, stream(0, "chain")).x[:, 0]
        mean = kernel[place] @ claim.GRID
        assert float(mean) == pytest.approx(float(ends.mean()), abs=5e-3)
        assert float(kernel[place] @ (claim.GRID - mean) ** 2) == pytest.approx(float(ends.var()), rel=0.02)


def test_along_its_own_gradient_the_term_pulls_chains_to_the_model() -> None:
    w = weights().requires_grad_(True)
    model, starts = torch.softmax(-claim.energy(w.detach()), 1), claim.NOISE.expand(claim.SETS, -1)
    value = kl(claim.run_chains(w, starts, FINE), model)
    (slope,) = torch.autograd.grad(value.sum(), w)
    moved = kl(claim.run_chains(w.detach() - 1e-3 * slope, starts, FINE), model)
    expected = value.detach() - 1e-3 * slope.square().sum(1)
    assert torch.allclose(moved, expected, rtol=1e-3)
    assert (moved < value).all()


def test_a_heavy_term_goes_its_signs_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the flipped sign chains run after a model that runs away from them, with the right one neither moves."""
    monkeypatch.setattr(claim, "STEPS", 60)
    monkeypatch.setattr(claim, "WEIGHT", 30.0)
    data = claim.densities(stream(0, "data"))
    exact, flipped, right = (claim.train(data, 0.1, sign) for sign in (None, 1.0, -1.0))
    assert (exact[0][-1] < 0.5 * exact[0][0]).all()
    assert (flipped[1][-1] > 3 * right[1][-1]).all()


def test_ratios_are_of_the_last_quarter_and_of_the_worse_step() -> None:
    def arm(flipped: float, right: float) -> dict[str, np.ndarray]:
        ends = {"without": 1.0, "flipped": flipped, "right": right}
        early = np.full((claim.ROWS * 3 // 4, claim.SETS), 9.0)
        late = {name: np.full((claim.ROWS // 4, claim.SETS), value) for name, value in ends.items()}
        return {f"{name}:{which}": np.concatenate([early, late[name]]) for name in ends for which in ("data", "chains")}

    found = claim.statistics({"fine": arm(1.1, 0.95), "coarse": arm(0.5, 3.0)})
    expected = {"sampling": 1.1, "fine": 1.1, "coarse": 0.5, "right": 0.95}
    assert {key: np.exp(value) for key, value in found.items()} == pytest.approx(expected)

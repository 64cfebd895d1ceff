"""Annealed Langevin against its formula, against Langevin, and on two modes with known weights."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.core.energy import energy_and_score
from ebmbench.core.streams import stream
from ebmbench.samplers import annealed_langevin, langevin


def gaussian(x: Tensor) -> Tensor:
    return 0.5 * (x * x.roll(1, 1)).sum(1) + x.square().sum(1)


def draws(count: int, *event: int) -> Tensor:
    return torch.randn(count, *event, generator=stream(0, "x"), dtype=torch.float64)


class Modes:
    """Two Gaussians on a line, 0.25 at −3 and 0.75 at 3, with deviation 0.3; a level adds its noise exactly."""

    def __init__(self, sigma: Tensor | float = 0.0) -> None:
        self.variance = 0.09 + torch.as_tensor(sigma, dtype=torch.float64) ** 2

    def given(self, sigma: Tensor) -> "Modes":
        return Modes(sigma)

    def __call__(self, x: Tensor) -> Tensor:
        left, right = ((x[:, 0] - centre).square() / (2 * self.variance) for centre in (-3.0, 3.0))
        return -torch.logaddexp(math.log(0.25) - left, math.log(0.75) - right)


def annealed(**more: Any) -> annealed_langevin.Settings:
    return annealed_langevin.Settings(**{"sigma_max": 6.0, "sigma_min": 0.1, "steps": 60, "step_size": 0.002, **more})


@pytest.mark.parametrize("energy", [gaussian, Modes()], ids=["ordinary", "conditional"])
def test_annealed_langevin_with_one_level_is_langevin(energy: Any) -> None:
    x, level = draws(20, 2), energy if energy is gaussian else Modes(0.1)
    ours = annealed(levels=1).run(energy, x, stream(0, "chain"))
    theirs = langevin.Settings(steps=60, step_size=0.002).run(level, x, stream(0, "chain"))
    assert torch.equal(ours.x, theirs.x)
    assert ours.diagnostics == theirs.diagnostics


def test_the_ladder_is_geometric_and_ends_where_it_should() -> None:
    sigmas = annealed(levels=7).ladder()
    assert sigmas.dtype == torch.float64
    torch.testing.assert_close(sigmas[[0, -1]].tolist(), [6.0, 0.1])
    torch.testing.assert_close(sigmas[1:] / sigmas[:-1], torch.full((6,), (0.1 / 6) ** (1 / 6), dtype=torch.float64))


@pytest.mark.parametrize("energy", [gaussian, Modes()], ids=["ordinary", "conditional"])
def test_annealed_langevin_takes_the_steps_of_its_formula(energy: Any) -> None:
    settings, x, generator = annealed(levels=3, steps=1), draws(20, 2), stream(0, "chain")
    ours, by_hand = settings.run(energy, x, stream(0, "chain")).x, x
    for sigma in settings.ladder():
        alpha = 0.002 * sigma**2 / 0.1**2
        level = Modes(sigma) if energy is not gaussian else lambda y, t=(0.1 / sigma) ** 2: t * gaussian(y)
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        by_hand = by_hand + 0.5 * alpha * energy_and_score(level, by_hand)[1] + alpha.sqrt() * noise
    torch.testing.assert_close(ours, by_hand)


def test_denoising_is_a_last_step_along_the_score() -> None:
    plain, denoised = (annealed(denoise=on).run(Modes(), draws(20, 1), stream(0, "chain")).x for on in (False, True))
    torch.testing.assert_close(denoised, plain + 0.01 * energy_and_score(Modes(0.1), plain)[1])


def test_annealed_langevin_weighs_both_modes_where_langevin_stays_in_one() -> None:
    x = torch.full((8_000, 1), -3.0, dtype=torch.float64)
    ends = annealed(levels=12).run(Modes(), x, stream(0, "chain")).x
    right = ends > 0
    assert abs(right.double().mean() - 0.75) < 0.02
    assert abs((ends[right] - 3).square().mean() / (0.09 + 0.01) - 1) < 0.1
    stuck = langevin.Settings(steps=720, step_size=0.002).run(Modes(0.1), x, stream(0, "chain")).x
    assert (stuck < 0).all()


def test_annealed_langevin_tempers_an_ordinary_energy_and_ends_at_the_energy_itself() -> None:
    class Plain(Modes):
        given = property()  # no levels

    x = torch.full((4_000, 1), -3.0, dtype=torch.float64)
    ends = annealed(sigma_max=0.8, levels=8, steps=100, step_size=0.01).run(Plain(), x, stream(0, "chain")).x
    assert 0.3 < (ends > 0).double().mean() < 0.95
    assert abs((ends[ends > 0] - 3).square().mean() / 0.09 - 1) < 0.1

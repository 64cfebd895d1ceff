"""Elastic deformations: what they do to an image, and that between them chains are Langevin's."""

import math

import pytest
import torch

from ebmbench.core.streams import stream
from ebmbench.samplers import elastic_langevin, langevin
from ebmbench.samplers.elastic_langevin import smoothing, warp

pytestmark = pytest.mark.usefixtures("untouched_global_generator")
SIZE = 8


def images(count: int = 5) -> torch.Tensor:
    return torch.randn(count, 2, SIZE, SIZE, generator=stream(0, "x"), dtype=torch.float64)


def noise(count: int = 5) -> torch.Tensor:
    return torch.randn(count, 2, SIZE, SIZE, generator=stream(0, "noise"), dtype=torch.float64)


def energy(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x.flatten(1).square().sum(1)


def test_without_displacement_an_image_is_itself_and_a_flat_one_always_is() -> None:
    assert torch.allclose(warp(images(), noise(), 0.0, 2.0), images(), atol=1e-12)
    flat = torch.full((5, 1, SIZE, SIZE), 0.3, dtype=torch.float64)
    assert torch.allclose(warp(flat, noise(), 3.0, 2.0), flat)


def test_a_displacement_that_is_the_same_everywhere_shifts_the_image() -> None:
    x = images()
    # Smoothed over far more than the image, noise of 1 at every pixel is √64 = 8 at every pixel.
    shift = torch.zeros(5, 2, SIZE, SIZE, dtype=torch.float64)
    shift[:, 0] = 1.0
    right = warp(x, shift, 1 / 8, 1e6)
    assert torch.allclose(right[..., :-1], x[..., 1:])
    assert torch.allclose(right[..., -1], x[..., -1])
    down = warp(x, shift.flip(1), 2 / 8, 1e6)
    assert torch.allclose(down[..., :-2, :], x[..., 2:, :])


def test_half_a_pixel_further_a_wave_is_hardly_flatter() -> None:
    # Linear interpolation would leave cos(π/8) = 0.92 of it.
    u = torch.arange(SIZE, dtype=torch.float64)
    wave = torch.cos(2 * math.pi * u / SIZE).expand(1, 1, SIZE, SIZE)
    shift = torch.zeros(1, 2, SIZE, SIZE, dtype=torch.float64)
    shift[:, 0] = 0.5
    moved = warp(wave, shift, 1 / 8, 1e6)
    assert torch.allclose(moved[0, 0, 0, 1:-2], torch.cos(2 * math.pi * (u + 0.5) / SIZE)[1:-2], atol=0.03)


def test_a_ramp_shows_the_displacement_itself_which_is_smooth_and_as_large_as_told() -> None:
    # Far from the edges x(u + d) − x(u) is d for x(u) = u.
    wide = 41
    ramp = torch.arange(wide, dtype=torch.float64).expand(2000, 1, wide, wide)
    drawn = torch.randn(2000, 2, wide, wide, generator=stream(1, "noise"), dtype=torch.float64)
    d = (warp(ramp, drawn, 0.5, 2.0) - ramp)[:, 0, :, 10:-10]
    assert (d.std(0) - 0.5).abs().max() < 0.06
    # Of white noise smoothed with width ς, places r apart have correlation exp(−r²/4ς²).
    near, far = ((d[..., 0] * d[..., r]).mean(0).mean() / 0.25 for r in (2, 8))
    assert near == pytest.approx(torch.exp(torch.tensor(-0.25)).item(), abs=0.03)
    assert abs(far) < 0.05
    assert torch.allclose(smoothing(9, 2.0).square().sum(1), torch.ones(9, dtype=torch.float64))


def test_white_noise_is_not_left_in_place_for_pixels_are_averaged() -> None:
    x = torch.randn(500, 1, SIZE, SIZE, generator=stream(2, "x"), dtype=torch.float64)
    drawn = torch.randn(500, 2, SIZE, SIZE, generator=stream(2, "noise"), dtype=torch.float64)
    assert warp(x, drawn, 0.5, 2.0).var() < 0.8


def test_with_no_amplitude_it_is_langevin_from_the_same_stream() -> None:
    shared = {"steps": 7, "step_size": 0.1, "noise_std": 0.05, "clip": 0.5, "box": 1.0}
    still = elastic_langevin.Settings(amplitude=0.0, every=10, **shared)
    generator = stream(0, "chain")
    torch.randn(5, 2, SIZE, SIZE, generator=generator, dtype=torch.float64)  # the displacement's
    plain = langevin.Settings(**shared).run(energy, images(), generator)
    found = still.run(energy, images(), stream(0, "chain"))
    assert torch.allclose(found.x, plain.x, atol=1e-12)
    assert torch.allclose(found.diagnostics["gradient_norm"], plain.diagnostics["gradient_norm"].double())


@pytest.mark.parametrize(("steps", "lengths"), [(1000, [100, 100, 300, 500]), (250, [100, 100, 50]), (30, [30])])
def test_parts_begin_where_the_whole_run_is_warped(steps: int, lengths: list[int]) -> None:
    settings = elastic_langevin.Settings(steps=steps, step_size=0.01)
    parts = settings.parts(11)
    assert [part.steps for part in parts] == lengths
    whole, x, generator = settings.run(energy, images(), stream(0, "chain")).x, images(), stream(0, "chain")
    for part in parts:
        x = part.run(energy, x, generator).x
    assert torch.equal(x, whole)

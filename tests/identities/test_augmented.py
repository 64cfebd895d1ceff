"""Augmentations between Langevin steps: each is the identity at zero strength, and what its name says beyond it."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from ebmbench.core.streams import normal, stream
from ebmbench.samplers import elastic_langevin, langevin
from ebmbench.samplers.augmented_langevin import Settings, blur, colour, rescale, shift
from tests.conftest import gaussian_facts

pytestmark = pytest.mark.usefixtures("untouched_global_generator")
SIZE, ALL = 8, ["shift", "rescale", "blur", "colour", "elastic"]
OFF = {"shift": 0.0, "rescale": 0.0, "blur": 0.0, "colour": 0.0, "amplitude": 0.0}


def images(count: int = 5, size: int = SIZE) -> Tensor:
    return torch.randn(count, 3, size, size, generator=stream(0, "x"), dtype=torch.float64)


def noise(*shape: int) -> Tensor:
    return torch.randn(shape, generator=stream(0, "noise"), dtype=torch.float64)


def energy(x: Tensor) -> Tensor:
    return 0.5 * x.flatten(1).square().sum(1)


@pytest.mark.parametrize("name", ALL)
def test_without_strength_an_image_is_itself_and_with_it_another(name: str) -> None:
    settings, x = Settings(transformations=[name], colour=0.2), images()
    off = settings.model_copy(update=OFF)
    torch.testing.assert_close(off.transform(x, stream(0, "t")), x, rtol=0, atol=1e-12)
    moved = settings.transform(x, stream(0, "t"))
    assert (
        (moved - x).flatten(1).abs().amax(1) > 1e-3
    ).sum() >= 3  # a blur narrower than a pixel leaves an image alone
    assert torch.equal(moved, settings.transform(x, stream(0, "t")))


def test_a_shift_by_whole_pixels_rolls_the_padded_image() -> None:
    x = images()
    for right, down in ((1, 0), (0, 2), (-3, 1), (-2, -2)):
        d = torch.tensor([-right, -down], dtype=torch.float64).expand(5, 2)
        rolled = pad(x, (3, 3, 3, 3), mode="replicate").roll((down, right), (2, 3))[..., 3:-3, 3:-3]
        torch.testing.assert_close(shift(x, d / 0.5, 0.5), rolled, rtol=0, atol=1e-12)


def test_every_image_is_shifted_by_its_own_numbers() -> None:
    d = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    moved = shift(images(2), d, 1.0)
    torch.testing.assert_close(moved[0, :, :, :-1], images(2)[0, :, :, 1:])
    torch.testing.assert_close(moved[1, :, :-1], images(2)[1, :, 1:])


def test_rescaling_keeps_the_centre_and_moves_the_rest_by_the_factor() -> None:
    """A ramp x(u) = u becomes c + (u − c)/r, up to 0.05: between pixels cubic interpolation is not exact."""
    size = 21
    ramp = torch.arange(size, dtype=torch.float64).expand(2, 1, size, size)
    for images_, axis in ((ramp, 3), (ramp.mT, 2)):
        found = rescale(images_, torch.tensor([1.0, -1.0]).double(), math.log(1.25)).movedim(axis, -1)[:, 0, 10]
        u = torch.arange(size, dtype=torch.float64) - 10
        torch.testing.assert_close(found[0], 10 + u / 1.25, rtol=0, atol=0.05)  # larger: what is shown is nearer
        inner = slice(4, -4)  # further out the smaller one shows the edge
        torch.testing.assert_close(found[1][inner], (10 + u * 1.25)[inner], rtol=0, atol=0.05)


def test_a_blurred_point_is_a_gaussian_of_the_width_that_was_asked_for() -> None:
    size = 31
    point = torch.zeros(2, 1, size, size, dtype=torch.float64)
    point[:, :, 15, 15] = 1.0
    found = blur(point, torch.tensor([1.0, -2.0]).double(), 1.0)
    u = torch.arange(size, dtype=torch.float64) - 15
    for spread, width in zip(found[:, 0], (1.0, 2.0), strict=True):
        torch.testing.assert_close(spread.sum(), torch.tensor(1.0).double(), rtol=0, atol=1e-4)
        for one in (spread.sum(0), spread.sum(1)):
            assert float((one * u.square()).sum()) == pytest.approx(width**2, rel=1e-3)


def test_blur_keeps_flat_images_up_to_the_edge_and_flattens_others() -> None:
    flat = torch.tensor([0.3, -0.8]).double()[:, None, None, None].expand(2, 3, SIZE, SIZE)
    torch.testing.assert_close(blur(flat, noise(2), 2.0), flat, rtol=0, atol=1e-12)
    assert blur(images(), noise(5), 1.0).var() < 0.7 * images().var()


def test_colour_moves_each_channel_as_a_whole_and_leaves_volumes_as_they_are() -> None:
    moved = colour(images(), noise(5, 3), 0.1)
    expected = (0.1 * noise(5, 3))[:, :, None, None].expand_as(moved)
    torch.testing.assert_close(moved - images(), expected, rtol=0, atol=1e-12)
    fitted = Settings(transformations=["colour"]).fit_to(gaussian_facts(2, scale=3.0))
    assert (fitted.colour, fitted.shift, fitted.blur) == (pytest.approx(0.3), 0.5, 0.5)


def test_the_transformations_are_applied_in_their_order() -> None:
    both = Settings(transformations=["shift", "colour"])
    generator = stream(0, "t")
    first = shift(images(), normal(images()[:, 0, 0, :2], generator), both.shift)
    expected = colour(first, normal(images()[:, :, 0, 0], generator), both.colour)
    assert torch.equal(both.transform(images(), stream(0, "t")), expected)


def test_the_elastic_one_is_the_sampler_of_that_name_and_without_strength_all_are_langevin() -> None:
    shared = {"steps": 7, "step_size": 0.1, "noise_std": 0.05, "clip": 0.5, "box": 1.0}
    ours = Settings(transformations=["elastic"], every=3, **shared).run(energy, images(), stream(0, "chain"))
    theirs = elastic_langevin.Settings(every=3, **shared).run(energy, images(), stream(0, "chain"))
    assert torch.equal(ours.x, theirs.x)
    generator = stream(0, "chain")
    Settings(transformations=ALL).transform(images(), generator)  # draws what the first moment of the chain draws
    plain = langevin.Settings(**shared).run(energy, images(), generator)
    still = Settings(transformations=ALL, **shared, **OFF).run(energy, images(), stream(0, "chain"))
    torch.testing.assert_close(still.x, plain.x, rtol=0, atol=1e-10)

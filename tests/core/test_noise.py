"""Noise for contrastive estimation has the density it says, and is fitted to the data it is given."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from ebmbench.core.dataset import Facts
from ebmbench.core.noise import Anchored, draw_noise, fit_anchored, fit_box, fit_gaussian
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from tests.conftest import gaussian_facts
from tests.images import image_facts, images

UNKNOWN = {"licence": "unknown", "hash": ""}

pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def test_a_mixture_about_data_integrates_to_one_and_is_the_mean_of_its_gaussians() -> None:
    noise = Anchored(torch.tensor([[-1.0], [2.0]], dtype=torch.float64), torch.tensor([0.5, 1.0]))
    x = torch.linspace(-8, 8, 4001, dtype=torch.float64)[:, None]
    density = noise.log_prob(x).exp()
    assert float(density.sum() * (x[1] - x[0])) == pytest.approx(1.0, abs=1e-9)
    at = torch.tensor([[0.3]], dtype=torch.float64)
    expected = sum(
        math.exp(-((0.3 - a) ** 2) / (2 * w**2)) / (w * math.sqrt(2 * math.pi)) / 4
        for a in (-1.0, 2.0)
        for w in (0.5, 1.0)
    )
    assert float(noise.log_prob(at).exp()) == pytest.approx(expected, rel=1e-12)


def test_its_samples_have_its_moments() -> None:
    noise = Anchored(torch.tensor([[-1.0, 0.0], [2.0, 1.0]]), torch.tensor([0.3, 0.4]))
    x = draw_noise(noise, 40_000, stream(0, "noise"))
    assert torch.allclose(x.mean(0), torch.tensor([0.5, 0.5]), atol=0.03)
    assert torch.allclose(x.var(0), torch.tensor([2.25 + 0.125, 0.25 + 0.125]), atol=0.05)


def test_anchors_are_some_of_the_data_and_the_same_ones_each_time() -> None:
    data, facts = images(50), image_facts()
    first, again = (fit_anchored(facts, data, 10, torch.ones(1), stream(0, "anchors")) for _ in range(2))
    assert torch.equal(first.anchors, again.anchors)
    assert len(torch.unique(first.anchors, dim=0)) == 10
    assert all((data.flatten(1) == one).all(1).any() for one in first.anchors)


def test_a_gaussian_is_measured_where_the_facts_hold_no_covariance() -> None:
    data = images(500)
    noise = fit_gaussian(image_facts(), data, inflation=1.5, shrinkage=0.1)
    expected = 1.5 * data.flatten(1).double().mT.cov() + 0.1 * 0.25 * torch.eye(64)
    assert torch.allclose(noise.covariance_matrix.double(), expected, atol=1e-4)


def test_the_box_of_images_is_theirs_and_that_of_points_four_deviations_wide() -> None:
    inside = torch.full((1, 64), 0.99)
    assert float(fit_box(image_facts(), None, 1.0).log_prob(inside)) == pytest.approx(-64 * math.log(2))
    assert float(fit_box(image_facts(), None, 1.0).log_prob(1.02 * inside)) == -math.inf
    points = fit_box(gaussian_facts(2), None, 1.0)
    assert float(points.log_prob(torch.tensor([[3.9, -3.9]]))) == pytest.approx(-2 * math.log(8))


def test_the_box_of_many_coordinates_is_measured() -> None:
    many = Facts.of("many", torch.randn(200, 70, generator=stream(0, "many")).numpy(), np.zeros((2, 70)), **UNKNOWN)
    data = 3 * torch.randn(5000, 70, generator=stream(0, "many"))
    noise = fit_box(many, data, 1.0)
    reach = (draw_noise(noise, 4000, stream(0, "noise")) - torch.tensor(many.mean)).abs().amax(0)
    assert torch.allclose(reach, torch.full((70,), 12.0), rtol=0.05)


def test_constant_pixels_need_no_care_and_a_hopeless_covariance_is_refused_in_one_line() -> None:
    data = images(500).clone()
    data[..., 0] = -1.0
    fit_gaussian(image_facts(), data, inflation=1.2, shrinkage=0.0)
    facts = replace(gaussian_facts(2), covariance=[[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(UserError, match=r"shrinkage: found 0 for Gaussian noise, but the covariance of .* is singular"):
        fit_gaussian(facts, None, inflation=1.0, shrinkage=0.0)

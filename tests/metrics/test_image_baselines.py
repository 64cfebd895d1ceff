"""The baselines of images: a Gaussian of their moments, and noise that only images have."""

import torch

from ebmbench.baselines import gaussian, noisy
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from tests.conftest import gaussian_facts
from tests.features.project import evaluation


def test_the_gaussian_of_images_has_the_data_moments_and_its_own_density() -> None:
    e = evaluation(None)
    x = torch.cat([e.train, e.train.roll(1, 3)], 3)  # 128 coordinates, whose covariance the facts leave out
    facts = Facts.of("wide", x.numpy(), x.numpy(), licence="", hash="", levels=17)
    assert facts.covariance == []
    made = gaussian.subject(None, x, x, facts, 20_000, stream(0, "gaussian"))
    rows, drawn = x.flatten(1).double(), made.samples.flatten(1).double()
    torch.testing.assert_close(drawn.mean(0), rows.mean(0), rtol=0, atol=0.05)
    assert float((drawn.T.cov() - rows.T.cov()).abs().max()) < 0.03
    assert float(made.samples.max()) > 1.5  # nothing is clamped
    gap = rows[:5] - rows.mean(0)
    rounding = (2 / 16) ** 2 / 12  # the variance of noise as wide as one of 17 grey values
    covariance = rows.T.cov() + (1e-6 * rows.var(0).mean() + rounding) * torch.eye(128)
    expected = 0.5 * (gap @ covariance.inverse() * gap).sum(1)
    energy = made.energy(x[:5].double())
    torch.testing.assert_close(energy - energy[0], expected - expected[0], rtol=1e-4, atol=1e-3)


def test_the_gaussian_of_large_images_keeps_variances_and_leading_axes() -> None:
    direction = torch.randn(200, generator=stream(0, "axis")).double()
    rows = torch.randn(150, 1, generator=stream(0, "along")).double() * direction
    rows += 0.1 * torch.randn(150, 200, generator=stream(0, "rest")).double()
    mean, factor, rest = gaussian.low_rank(rows)
    torch.testing.assert_close(mean, rows.mean(0))
    torch.testing.assert_close(factor @ factor.mT + rest.diag(), rows.T.cov(), rtol=0, atol=1e-3)
    lead = factor[:, -1] / factor[:, -1].norm()
    assert abs(float(lead @ direction / direction.norm())) > 0.99


def test_noise_is_no_baseline_of_points() -> None:
    made = noisy.subject(None, torch.zeros(5, 2), torch.zeros(5, 2), gaussian_facts(2), 5, stream(0, "x"))
    assert made.samples is None
    assert made.energy is None

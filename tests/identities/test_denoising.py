"""Denoising score matching is explicit score matching to the smoothed density, up to a constant without parameters."""

import numpy as np
import torch

from ebmbench.core.energy import score
from ebmbench.core.streams import stream
from ebmbench.data.densities.mixture import Mixture
from ebmbench.methods.dsm import denoising_score_matching

SIGMA = 0.4
# The trapezoidal rule for a normal expectation: its error falls faster than any power of the spacing.
NODES = np.linspace(-9, 9, 240)
WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()
DATA = torch.tensor([[-1.0], [0.5], [2.0]], dtype=torch.float64)  # an empirical density: three points in one dimension


def energy(theta: torch.Tensor):
    return lambda x: (theta[0] * x.square() + theta[1] * torch.cos(x) + theta[2] * x).sum(1)


def denoising(theta: torch.Tensor) -> float:
    """The expectation over the noise by quadrature, one node at a time, through the method's own objective."""
    total = 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        noise = torch.full_like(DATA, node)
        total += weight * denoising_score_matching(energy(theta), DATA, noise, SIGMA).item()
    return total


def explicit(theta: torch.Tensor) -> float:
    """½ E‖s − s_σ‖² under the smoothed density, by the same quadrature around each datum."""
    smoothed = Mixture(DATA, torch.ones(3), SIGMA)
    total = 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        x = DATA + SIGMA * node
        total += weight * 0.5 * (score(energy(theta), x) - smoothed.score(x)).square().sum(1).mean().item()
    return total


def test_the_difference_does_not_depend_on_the_parameters() -> None:
    thetas = torch.randn(6, 3, generator=stream(0, "theta"), dtype=torch.float64)
    gaps = [denoising(theta) - explicit(theta) for theta in thetas]
    assert max(gaps) - min(gaps) < 1e-10
    assert denoising(thetas[0]) != denoising(thetas[1])

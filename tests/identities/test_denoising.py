"""Denoising score matching is explicit score matching to the smoothed density, up to a constant without parameters.

E½‖s(x̃) + ε/σ‖² = ½E‖s − s_σ‖² + D/2σ² − ½E‖s_σ‖², where s_σ is the score of data with noise σ (Vincent 2011).
"""

import math

import pytest
import torch
from torch import Tensor

from ebmbench.core.energy import Energy, score
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from ebmbench.data.common.densities import Mixture
from ebmbench.methods.dsm import Method, Settings, denoising_score_matching
from tests.conftest import gaussian_facts
from tests.identities.networks import events, network
from tests.identities.quadrature import line, normal

SIGMA = 0.4
CENTRES = torch.tensor([[-1.0], [0.5], [2.0]], dtype=torch.float64)
# Three points (the empirical density of data), and a mixture of three Gaussians around them.
DEVIATIONS = pytest.mark.parametrize("deviation", [0.0, 0.3], ids=["points", "mixture"])
THETAS = torch.randn(4, 3, generator=stream(0, "theta"), dtype=torch.float64)


def energy(theta: Tensor) -> Energy:
    return lambda x: (theta[0] * x.square() + theta[1] * torch.cos(x) + theta[2] * x).sum(1)


def denoising(theta: Tensor, deviation: float) -> float:
    """The expectation over data and noise by Gauss–Hermite quadrature, through the method's own objective.

    The score is a sum of a line and a sine: with 24 nodes its square is integrated to rounding.
    """
    data = normal(24) if deviation else (torch.zeros(1, 1).double(), torch.ones(1).double())
    total = 0.0
    for place, p in zip(*data, strict=True):
        for node, q in zip(*normal(24), strict=True):
            noise = node.expand_as(CENTRES)
            loss = denoising_score_matching(energy(theta), CENTRES + deviation * place, noise, SIGMA)
            total += float(p * q * loss.detach())
    return total


def smoothed(deviation: float) -> tuple[Tensor, Tensor, Tensor]:
    """Nodes on the line, the weights that the smoothed density has there, and its score."""
    density = Mixture(CENTRES, torch.ones(3), math.hypot(deviation, SIGMA))
    nodes, distance = line(9.0, 1201)
    return nodes, density.log_prob(nodes).exp() * distance, density.score(nodes)


def explicit(theta: Tensor, deviation: float) -> float:
    """½E‖s − s_σ‖² under the smoothed density."""
    nodes, weights, target = smoothed(deviation)
    return float(weights @ (0.5 * (score(energy(theta), nodes) - target).square().sum(1)))


@DEVIATIONS
def test_the_difference_is_a_constant_and_the_known_one(deviation: float) -> None:
    _, weights, target = smoothed(deviation)
    constant = 1 / (2 * SIGMA**2) - float(weights @ (0.5 * target.square().sum(1)))
    for theta in THETAS:
        assert denoising(theta, deviation) - explicit(theta, deviation) == pytest.approx(constant, abs=1e-10)
    assert abs(explicit(THETAS[0], deviation) - explicit(THETAS[1], deviation)) > 0.1


def test_the_method_measures_noise_and_score_in_units_of_the_datas_deviation() -> None:
    network_, x = network(2, scale=3.0), events(9, 2)
    noise = torch.randn(9, 2, generator=draws(0, 0)("noise"), dtype=torch.float64)
    expected = 3.0**2 * denoising_score_matching(network_, x, noise, 0.2 * 3.0)
    assert (
        Method(Settings(sigma=0.2), gaussian_facts(2, 3.0))(Meter(network_), x, draws(0, 0)).item() == expected.item()
    )

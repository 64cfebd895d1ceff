"""Norms of convolutions against the matrix that they are, and the search against networks whose slope is known."""

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d

from ebmbench.claims.spectral_norm_is_one_lipschitz import SIZES, STARTS, Perceptron, norms, steepest
from ebmbench.models.common.spectral import Spectral


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def test_a_normalised_kernel_of_ones_is_an_operator_of_norm_three() -> None:
    layer = nn.Conv2d(1, 1, 3, padding=1)
    nn.init.ones_(layer.weight)
    normalised = Spectral(layer)
    normalised.initialise(generator())
    found = norms([normalised], (6, 6), generator())
    pixels = torch.eye(36).reshape(36, 1, 6, 6)
    matrix = conv2d(pixels, layer.weight.detach() / 3, padding=1).flatten(1)
    assert found["matrix"] == [pytest.approx(1)]
    assert found["operator"] == [pytest.approx(float(torch.linalg.matrix_norm(matrix, ord=2)), rel=1e-4)]
    assert found["operator"][0] > 2.5


def test_the_search_finds_the_slope_of_a_linear_energy() -> None:
    w = torch.randn(64, generator=generator())
    assert steepest(lambda x: x @ w, torch.rand(4, 64)) == pytest.approx(float(w.norm()))


def test_the_search_finds_the_steepest_of_several_pieces() -> None:
    # max(0, 3x₁) + max(0, 4x₂): slope 5 where both are positive, and starts where neither is.
    energy = nn.Sequential(nn.Linear(2, 2, bias=False), nn.LeakyReLU(0.01))
    with torch.no_grad():
        energy[0].weight.copy_(torch.diag(torch.tensor([3.0, 4.0])))
    found = steepest(lambda x: energy(x).sum(1), -torch.rand(8, 2, generator=generator()))
    assert found == pytest.approx(5, rel=1e-4)


def test_linear_layers_that_are_trained_to_be_steep_come_near_slope_one_and_others_exceed_it() -> None:
    control = Perceptron().initialise(generator())
    low, high = torch.randn(2, 100, SIZES[0], generator=generator())
    control.part(low - 0.5, high + 0.5)
    before = steepest(control, high[:STARTS])
    assert 0.5 < before < 1.001
    for layer in control.layers:
        assert isinstance(layer, Spectral)
        layer.u.mul_(0.8)  # a bug: σ̂ is too small
    assert steepest(control, high[:STARTS]) > 1.001

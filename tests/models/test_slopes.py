"""Closed-form scores are autograd's, in both precisions, for any shape of event."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load, names
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import by_autograd, energy_and_score, score_and_curvature
from ebmbench.core.streams import stream

SHAPES = pytest.mark.parametrize("shape", [(2,), (1, 3, 3)], ids=str)
BATCHES = pytest.mark.parametrize("count", [1, 17])
# Energies of order ten with weights of order one: float32 keeps about six digits.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
DTYPES = pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
SIGMAS = {"one level": 0.3, "a level each": torch.logspace(-1.3, 0.5, 17, dtype=torch.float64)}


def facts(shape: tuple[int, ...]) -> Facts:
    d = math.prod(shape)
    covariance = [[4.0 if i == j else 0.0 for j in range(d)] for i in range(d)]
    return Facts("gaussian", list(shape), 1000, 1000, [0.1 * i for i in range(d)], covariance, 2.0, "none", "none")


def made(name: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Any:
    module = load("models", name)
    return module.Model(module.Settings(width=16), facts(shape)).initialise(stream(0, "weights")).to(dtype)


def events(count: int, shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Tensor:
    return 2 * torch.randn(count, *shape, generator=stream(0, "x"), dtype=torch.float64).to(dtype)


def agree(energy: Any, x: Tensor) -> None:
    """The energy called, its own energy and score, and autograd's: one and the same."""
    ours, theirs = energy_and_score(energy, x), by_autograd(energy, x)
    assert ours[0].shape == x.shape[:1]
    assert ours[1].shape == x.shape
    assert ours[0].dtype == ours[1].dtype == x.dtype
    assert not ours[0].requires_grad
    assert not ours[1].requires_grad
    for one, other in zip((*ours, energy(x).detach()), (*theirs, theirs[0]), strict=True):
        torch.testing.assert_close(one, other, rtol=TOLERANCE[x.dtype], atol=TOLERANCE[x.dtype])


@DTYPES
@BATCHES
@SHAPES
def test_the_perceptrons_closed_form_is_autograds(shape: tuple[int, ...], count: int, dtype: torch.dtype) -> None:
    agree(made("mlp", shape, dtype), events(count, shape, dtype))


@DTYPES
@pytest.mark.parametrize("levels", list(SIGMAS))
@BATCHES
@SHAPES
def test_each_levels_closed_form_is_autograds(
    shape: tuple[int, ...], count: int, levels: str, dtype: torch.dtype
) -> None:
    sigma = SIGMAS[levels]
    sigma = sigma[:count].to(dtype) if isinstance(sigma, Tensor) else sigma
    agree(made("noise_mlp", shape, dtype).given(sigma), events(count, shape, dtype))


@pytest.mark.parametrize("name", ["mlp", "noise_mlp"])
def test_with_a_graph_the_score_is_the_same_and_has_gradients(name: str) -> None:
    network, x = made(name, (2,)), events(5, (2,))
    energy = network.given(0.3) if name == "noise_mlp" else network
    kept = energy_and_score(energy, x, create_graph=True)
    for one, other in zip(kept, energy_and_score(energy, x), strict=True):
        torch.testing.assert_close(one.detach(), other, rtol=0, atol=1e-12)
    kept[1].square().sum().backward()
    assert network.trunk.hidden[0].weight.grad.abs().sum() > 0
    s, curvature = score_and_curvature(energy, x, torch.ones(1, 5, 2, dtype=torch.float64))
    torch.testing.assert_close(s, kept[1], rtol=0, atol=1e-12)
    step = 1e-5 * torch.ones(2, dtype=torch.float64)
    change = (energy_and_score(energy, x + step)[1] - energy_and_score(energy, x - step)[1]).sum(1) / 2e-5
    torch.testing.assert_close(curvature[0].detach(), change, rtol=1e-6, atol=1e-6)


IMAGES_ONLY = ("unet",)
LEVELLED = [name for name in names("models") if hasattr(load("models", name).Model, "given")]


@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name in LEVELLED for shape in [(2,), (1, 3, 3)] if len(shape) == 3 or name not in IMAGES_ONLY],
    ids=str,
)
def test_a_level_for_all_events_or_one_for_each_is_the_same(name: str, shape: tuple[int, ...]) -> None:
    network, x = made(name, shape), events(4, shape)
    each = torch.tensor([0.1, 0.7, 0.7, 2.0], dtype=torch.float64)
    together = network.given(each)
    ask = "energy_and_score" if hasattr(together, "energy_and_score") else "score"
    for i, sigma in enumerate(each):
        for alone in (network.given(sigma.item()), network.given(sigma), network.given(each[i : i + 1])):
            one, other = getattr(alone, ask)(x[i : i + 1]), getattr(together, ask)(x)
            for a, b in zip(*((one, other) if ask != "score" else ((one,), (other,))), strict=True):
                torch.testing.assert_close(a[0], b[i], rtol=0, atol=1e-12)
    if ask != "score":
        torch.testing.assert_close(together(x)[1], network.given(0.7)(x)[1], rtol=0, atol=1e-12)


def test_a_vector_valued_score_has_no_energy() -> None:
    network, x = made("score_mlp", (2,)), events(5, (2,))
    level = network.given(0.3)
    assert not callable(level)
    s = level.score(x)
    assert s.shape == x.shape
    assert not s.requires_grad
    kept = level.score(x, create_graph=True)
    assert torch.equal(kept.detach(), s)
    kept.square().sum().backward()
    assert network.trunk.hidden[0].weight.grad.abs().sum() > 0


@pytest.mark.parametrize("sigma", [0.1, 1.0, 6.0])
def test_far_away_each_level_is_its_confining_quadratic_so_its_normaliser_is_finite(sigma: float) -> None:
    x = 1e6 * math.hypot(2.0, sigma) * torch.nn.functional.normalize(events(50, (2,)))
    energy = made("noise_mlp", (2,)).given(sigma)(x).detach()
    torch.testing.assert_close(energy / (1e12 / 18), torch.ones(50, dtype=torch.float64), rtol=0, atol=0.01)

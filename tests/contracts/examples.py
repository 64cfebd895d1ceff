"""Small networks and events for the contract tests, made from the settings that a plug-in carries itself."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ebmbench.config.registry import load
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Density
from tests.conftest import binary_facts, gaussian_facts


def example_facts(model: str) -> Facts:
    """Facts of data that suit a model: points in the plane, images of its `EXAMPLE_SHAPE`, or binary units."""
    module = load("models", model)
    if getattr(module, "EXAMPLE_STATES", "real") == "binary":
        return binary_facts(1, 2, 3)
    shape = getattr(module, "EXAMPLE_SHAPE", (2,))
    if len(shape) == 1:
        return replace(gaussian_facts(*shape), classes=list("ab"))
    return Facts("images", list(shape), 100, 50, [0.0] * math.prod(shape), [], 0.5, "none", "none", 17, list("ab"))


def example_network(model: str, seed: int = 0, labelled: bool = False) -> nn.Module:
    """A small network, or classifier of two classes, with weights from a named stream."""
    module = load("models", model)
    make = module.Model.classifier if labelled else module.Model
    network: nn.Module = make(module.Settings(**module.EXAMPLE), example_facts(model))
    return network.initialise(stream(seed, "weights"))


def events(model: str, count: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    """Standard normal events of the model's shape, or fair coins."""
    facts = example_facts(model)
    x = torch.randn(count, *facts.shape, generator=stream(seed, "events"), dtype=torch.float64)
    return (x > 0).to(dtype) if facts.binary else x.to(dtype)


class Ladder:
    """The energies of a density with noise: what a perfect network with noise levels would give."""

    def __init__(self, density: Density) -> None:
        self.density = density

    def given(self, sigma: float) -> Energy:
        """The energy at one level."""
        smoothed = self.density.smoothed(sigma)
        return lambda x: -smoothed.log_prob(x)


def has_levels(network: Any) -> bool:
    """Whether the network is conditioned on a noise level."""
    return hasattr(network, "given")


def gives_energy(network: Any) -> bool:
    """Whether the network (at a noise level, if it has any) is an energy and not a score alone."""
    return callable(network.given(1.0)) if has_levels(network) else not hasattr(network, "score")

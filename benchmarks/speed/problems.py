"""The problems: networks of the sizes that the suites use, with data or noise to start chains from.

Weights are those that training starts with, unless stated otherwise. A problem holds our network and its plain copy,
and their energies are compared once.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.speed.contenders.plain import copy_plain, require_equal
from ebmbench.config.registry import load
from ebmbench.config.sections import Training
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.data.eight_gaussians import density
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer

COUNT = 50_000  # as params.yaml has it
WARM_STEPS = 1000


@dataclass(frozen=True)
class Problem:
    """Chains at `x` on an energy: our network, and the same as plain PyTorch; η in the data's own units."""

    facts: Facts
    network: nn.Module
    plain: nn.Module
    x: Tensor
    step_size: float


def make_problem(model: str, settings: dict[str, Any], facts: Facts, batch: int, step_size: float = 0.0025) -> Problem:
    """A problem with a network at its start; η in units of the data's variance."""
    module = load("models", model)
    network = module.Model(module.Settings(**settings), facts).initialise(stream(0, "speed", "weights"))
    x, twin = facts.starts(batch, stream(0, "speed", "starts")), copy_plain(network)
    require_equal(network, twin, x)
    return Problem(facts, network, twin.requires_grad_(False), x, step_size * facts.unit**2)


@cache
def eight_gaussians() -> tuple[Facts, Tensor]:
    """Facts and data of the toy that methods are trained on."""
    data = density().sample(COUNT, stream(0, "speed", "data")).float()
    return Facts.of("eight_gaussians", data.numpy(), data.numpy()[:2], licence="none", hash="none"), data


def vectors(dimension: int) -> Facts:
    """Facts of standard normal data."""
    identity = torch.eye(dimension).tolist() if dimension <= 64 else []
    return Facts("normal", [dimension], COUNT, COUNT, [0.0] * dimension, identity, 1.0, "none", "none")


def images(side: int, levels: int) -> Facts:
    """Facts of grey images."""
    zeros = [0.0] * side**2
    return Facts("images", [1, side, side], COUNT, COUNT, zeros, [], 0.5, "none", "none", levels=levels)


@cache
def mlp_plane(batch: int) -> Problem:
    """The perceptron of the two-dimensional suites."""
    return make_problem("mlp", {"width": 64, "layers": 3}, eight_gaussians()[0], batch)


@cache
def mlp_trained() -> Problem:
    """The same after a little training: a network at its start has its mass all over the place."""
    (facts, data), method, model = eight_gaussians(), load("methods", "nce"), load("models", "mlp")
    job = Job("nce", method.Settings(), {}, 0, Training(), model.Settings(width=64, layers=3), facts)
    trainer = Trainer(job, data)
    for _ in range(WARM_STEPS):
        trainer._update()
    x, twin = data[:256], copy_plain(trainer.model)
    require_equal(trainer.model, twin, x)
    return Problem(facts, trainer.model, twin.requires_grad_(False), x, 0.0025 * facts.unit**2)


@cache
def mlp_digits(batch: int) -> Problem:
    """The perceptron of `digits`: 64 pixels."""
    return make_problem("mlp", {"width": 256, "layers": 2}, images(8, 17), batch)


@cache
def tiny(batch: int) -> Problem:
    """The small ConvNet of `mnist`."""
    return make_problem("tiny", {}, images(28, 256), batch)


@cache
def convnet(batch: int) -> Problem:
    """ConvNet A of the thesis, spectrally normalised."""
    return make_problem("convnet", {"variant": "A"}, images(28, 256), batch)

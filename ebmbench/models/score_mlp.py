"""Noise-conditional perceptron score s(x, σ) = MLP(u, t)/σ: a vector field, of no energy in general.

Inputs u and t as in `noise_mlp`; the network predicts minus the noise. This is the paper's own kind of network: it
costs one pass where an energy's gradient costs two, and has no density, so exact metrics do not apply.
"""

import math
from typing import Self

import torch
from torch import Generator, Tensor, nn

from ebmbench.core.dataset import Facts
from ebmbench.models.common.trunk import Trunk, TrunkSettings
from ebmbench.models.noise_mlp import noisy_inputs

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019


class Settings(TrunkSettings):
    """`params.yaml: models.score_mlp`."""


class Model(nn.Module):
    """The scores of all levels; `given(sigma)` is one of them."""

    centre: Tensor
    scale: Tensor

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__()
        inputs = math.prod(facts.shape)
        self.trunk = Trunk(settings, inputs + 1, inputs)
        self.register_buffer("centre", torch.tensor(facts.mean).reshape(-1))
        self.register_buffer("scale", torch.tensor(facts.scale))

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights from one named stream."""
        self.trunk.initialise(generator)
        return self

    def given(self, sigma: Tensor | float) -> "Level":
        """The score at a noise level, one for all events or one for each, in the data's units."""
        return Level(self, sigma)


class Level:
    """s(·, σ), `(B, *event) -> (B, *event)`; not callable, for it has no energy."""

    def __init__(self, model: Model, sigma: Tensor | float) -> None:
        self.model, self.sigma = model, sigma

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        """s(x, σ); with `create_graph` it can be differentiated with respect to the weights."""
        with torch.set_grad_enabled(create_graph):
            _, z, sigma, _ = noisy_inputs(x, self.sigma, self.model.centre, self.model.scale)
            vector: Tensor = self.model.trunk(z) / sigma
        return vector.reshape(x.shape)

"""Noise-conditional perceptron score s(x, σ) = MLP(u, t)/σ: a vector field, of no energy in general.

Inputs u and t as in `noise_mlp`; the network predicts minus the noise. This is the paper's own kind of network: it
costs one pass where an energy's gradient costs two. Its density is that of its flow (`metrics/common/flow.py`).
"""

import math

import torch
from torch import Tensor

from ebmbench.core.dataset import Facts
from ebmbench.models.common.noise_levels import ScoreNetwork
from ebmbench.models.common.trunk import TrunkNetwork, TrunkSettings

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"
EXAMPLE = {"width": 8}


class Settings(TrunkSettings):
    """`params.yaml: models.score_mlp`."""


class Model(TrunkNetwork, ScoreNetwork):
    """The scores of all levels; `given(sigma)` is one of them."""

    def __init__(self, settings: Settings, facts: Facts) -> None:
        inputs = math.prod(facts.shape)
        super().__init__(settings, facts, inputs + 1, inputs)

    def forward(self, u: Tensor, t: Tensor) -> Tensor:
        """Minus the noise, `(B, *event)`; `t` is `(B,)`."""
        vector: Tensor = self.trunk(torch.cat([u.flatten(1), t[:, None]], dim=1))
        return vector.reshape(u.shape)

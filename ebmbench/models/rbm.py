"""Restricted Boltzmann machine: visible and hidden binary units, with no weights inside of a layer.

    E(v, h) = −(v − μ)ᵀb − cᵀ(h − λ) − (v − μ)ᵀW(h − λ),     F(v) = −log Σ_h exp(−E(v, h)).

With offsets μ = λ = 0 (`centred: false`) F(v) = −bᵀv − Σⱼ log(1 + exp(cⱼ + vᵀW:ⱼ)), the machine of Smolensky (1986) and
Hinton (2002). With others it is the same family, since they only move the biases, by −Wλ and −Wᵀμ, and E by a constant,
which is left out here. But the gradient is another one, and learns better: it no longer depends on which of two states
is called 1. μ is the data's mean. λ follows the mean activity of the hidden units, over data and negatives alike (the
paper's type A), by `shift` of the way at each step; b moves with it, so that the energy does not (the paper's
reparametrisation).

First weights are uniform on ±4√(6/(V + H)), b is the logit of the data's mean, and c is 0.
"""

import math
from typing import Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn

from ebmbench.core.binary import log_one_plus_exp
from ebmbench.core.dataset import Facts
from ebmbench.models.common.bipartite import Bipartite, logit_of_mean, require_binary, widest_uniform
from ebmbench.models.common.machine import MachineModel

PAPER = (
    "Hinton, Training Products of Experts by Minimizing Contrastive Divergence, 2002; "
    "centring: Melchior, Fischer & Wiskott, How to Center Deep Boltzmann Machines, JMLR 17(99), 2016"
)
YEAR = 2002
LINK = ("https://doi.org/10.1162/089976602760128018", "https://jmlr.org/papers/v17/14-237.html")
EXAMPLE = {"hidden": 4}
EXAMPLE_STATES = "binary"


class Settings(BaseModel):
    """`params.yaml: models.rbm`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    hidden: int = Field(16, ge=1, description="hidden units")
    centred: bool = Field(True, description="offsets μ and λ; false: both are 0")
    shift: float = Field(0.01, ge=0, le=1, description="how far λ goes towards the mean activity at each step")


class Model(MachineModel):
    """The free energy `(B, *event) -> (B,)`."""

    visible_offset: Tensor
    hidden_offset: Tensor
    activity: Tensor
    sweep_passes = 2

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__()
        require_binary("rbm", facts)
        visible, self.settings = math.prod(facts.shape), settings
        self.weight = nn.Parameter(torch.empty(visible, settings.hidden))
        self.visible_bias = nn.Parameter(logit_of_mean(facts.mean))
        self.hidden_bias = nn.Parameter(torch.zeros(settings.hidden))
        half = torch.full((settings.hidden,), 0.5 if settings.centred else 0.0)
        mean = torch.tensor(facts.mean)
        self.register_buffer("visible_offset", mean if settings.centred else torch.zeros_like(mean))
        self.register_buffer("hidden_offset", half)
        self.register_buffer("activity", half.clone())  # mean p(h = 1 | v) of the last batch that was learned from

    @torch.no_grad()
    def initialise(self, generator: Generator) -> Self:
        """Draw the weights from one named stream."""
        reach = widest_uniform(*self.weight.shape)
        self.weight.copy_(reach * (2 * torch.rand(self.weight.shape, generator=generator) - 1))
        return self

    def plain(self) -> Bipartite:
        """The same machine without offsets, in the graph of the weights."""
        b = self.visible_bias - self.weight @ self.hidden_offset
        c = self.hidden_bias - self.visible_offset @ self.weight
        return Bipartite(self.weight, b, c)

    def forward(self, x: Tensor) -> Tensor:
        """F(v)."""
        weight, b, c = self.plain()
        v = x.flatten(1)
        inputs = torch.addmm(c, v, weight)
        if self.training and torch.is_grad_enabled():
            self.activity.copy_(inputs.detach().sigmoid().mean(0))
        return -(v @ b) - log_one_plus_exp(inputs).sum(1)

    @torch.no_grad()
    def renew(self) -> None:
        """Let λ follow the hidden units: called before each training step."""
        if self.settings.centred:
            step = self.settings.shift * (self.activity - self.hidden_offset)
            self.visible_bias.add_(self.weight @ step)
            self.hidden_offset.add_(step)

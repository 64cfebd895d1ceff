"""Gaussian–Bernoulli restricted Boltzmann machine: real visible units, binary hidden ones.

    E(v, h) = Σ_i (v_i − b_i)²/2σ_i² − Σ_ij w_ij h_j v_i/σ_i − Σ_j c_j h_j,
    p(v | h) = N(b + σ∘(Wh), σ²),     p(h_j = 1 | v) = sigmoid(c_j + Σ_i w_ij v_i/σ_i)

(Beigy prints 1 for c_j). Summed over h, F(v) = Σ (v − b)²/2σ² − Σ_j log(1 + exp(c_j + Σ_i w_ij v_i/σ_i)): a mixture of
2^H Gaussians of one width, so that log Z is a sum over the hidden states. σ > 0 is learned by its logarithm, or stays
at the data's deviations. First weights are N(0, 0.1²/V), b is the data's mean, and c is 0.
"""

import math
from typing import NamedTuple, Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn

from ebmbench.core.binary import FEWEST_HIDDEN, draw_units, enumerate_log_z, log_one_plus_exp
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import normal
from ebmbench.errors import UserError
from ebmbench.models.common.machine import MachineModel

PAPER = "Hinton & Salakhutdinov, Reducing the Dimensionality of Data with Neural Networks, Science 313, 2006"
YEAR = 2006
LINK = "https://doi.org/10.1126/science.1127647"
EXAMPLE = {"hidden": 3}


class Settings(BaseModel):
    """`params.yaml: models.gaussian_rbm`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    hidden: int = Field(16, ge=1, description="hidden units")
    learn_sigma: bool = Field(True, description="false: σ stays at the data's deviations")


class GaussianMachine(NamedTuple):
    """Weights `(V, H)`, biases and σ as plain tensors; events may have any shape with V coordinates."""

    weight: Tensor
    visible_bias: Tensor
    hidden_bias: Tensor
    sigma: Tensor

    @property
    def sweep_passes(self) -> int:
        """There and back."""
        return 2

    def __call__(self, x: Tensor) -> Tensor:
        """F(v), `(B,)`."""
        return self.free_energy(x)

    def free_energy(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """F_β(v), `(B,)`."""
        v = x.flatten(1)
        inputs = torch.addmm(self.hidden_bias, v / self.sigma, self.weight) * beta
        squares = (0.5 * ((v - self.visible_bias) / self.sigma).square() * beta).sum(1)
        return squares - log_one_plus_exp(inputs).sum(1)

    def hidden(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """p(h = 1 | v), `(B, H)`."""
        return torch.sigmoid(torch.addmm(self.hidden_bias, x.flatten(1) / self.sigma, self.weight) * beta)

    def visible_mean(self, h: Tensor) -> Tensor:
        """The mean of v given h, `(B, V)`, at any temperature; its deviation is σ/√β."""
        return self.visible_bias + self.sigma * (h @ self.weight.mT)

    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0) -> Tensor:
        """Hidden units given the visible ones, then visible ones given these."""
        mean = self.visible_mean(draw_units(self.hidden(x, beta), generator))
        return (mean + self.sigma * normal(mean, generator) / torch.as_tensor(beta).sqrt()).reshape(x.shape)

    @torch.no_grad()
    def log_partition(self) -> float | None:
        """log Z in float64: Σ_h exp(cᵀh + (b/σ)ᵀWh + ½‖Wh‖²) · Π √(2π)·σ."""
        weight, b, c, sigma = (part.double() for part in self)
        if len(c) > FEWEST_HIDDEN:
            return None

        def summand(h: Tensor) -> Tensor:
            shift = h @ weight.mT
            return h @ c + shift @ (b / sigma) + 0.5 * shift.square().sum(1)

        return enumerate_log_z(summand, len(c)) + float((sigma.log() + 0.5 * math.log(2 * math.pi)).sum())


class Model(MachineModel):
    """The free energy `(B, *event) -> (B,)`."""

    log_sigma: Tensor
    sweep_passes = 2

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__()
        if facts.binary:
            raise UserError(f"model gaussian_rbm: found binary data ({facts.name}), allowed: real-valued data")
        visible = math.prod(facts.shape)
        self.weight = nn.Parameter(torch.empty(visible, settings.hidden))
        self.visible_bias = nn.Parameter(torch.tensor(facts.mean))
        self.hidden_bias = nn.Parameter(torch.zeros(settings.hidden))
        widths = [row[i] ** 0.5 for i, row in enumerate(facts.covariance)] or [facts.scale] * visible
        start = torch.tensor(widths).log()
        if settings.learn_sigma:
            self.log_sigma = nn.Parameter(start)
        else:
            self.register_buffer("log_sigma", start)

    @torch.no_grad()
    def initialise(self, generator: Generator) -> Self:
        """Draw the weights from one named stream."""
        noise = torch.randn(self.weight.shape, generator=generator)
        self.weight.copy_(0.1 * noise / math.sqrt(len(self.weight)))
        return self

    def plain(self) -> GaussianMachine:
        """The machine in the graph of the weights."""
        return GaussianMachine(self.weight, self.visible_bias, self.hidden_bias, self.log_sigma.exp())

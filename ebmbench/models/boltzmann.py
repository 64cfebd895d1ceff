"""Boltzmann machine without hidden units: every pair of binary units has a coupling.

    E(v) = −bᵀv − Σ_{i<j} U_ij v_i v_j,     p(v_i = 1 | rest) = σ(b_i + Σ_j U_ij v_j).

Each pair counts once. In spins s = 2v − 1 the coupling of a pair is J = U/4 and the field of a unit b/2 + Σ_j U_ij/4.
A Gibbs sweep takes the units in order. The fields of all units are kept and corrected after each, so a sweep costs as
much as one evaluation of the energy. First couplings are small, N(0, 0.01²), and b is the logit of the data's mean:
nearly independent units with the data's means.
"""

import math
from typing import NamedTuple, Self

import torch
from pydantic import BaseModel, ConfigDict
from torch import Generator, Tensor, nn

from ebmbench.core.binary import FEWEST_VISIBLE, enumerate_log_z
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import uniform
from ebmbench.models.common.bipartite import logit_of_mean, require_binary
from ebmbench.models.common.machine import MachineModel

PAPER = "Ackley, Hinton & Sejnowski, A Learning Algorithm for Boltzmann Machines, Cognitive Science 9, 1985"
YEAR = 1985
LINK = "https://doi.org/10.1207/s15516709cog0901_7"
EXAMPLE: dict[str, object] = {}
EXAMPLE_STATES = "binary"


class Settings(BaseModel):
    """`params.yaml: models.boltzmann`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Couplings(NamedTuple):
    """Symmetric couplings `(V, V)` with a zero diagonal, and biases, as plain tensors."""

    couplings: Tensor
    bias: Tensor

    @property
    def sweep_passes(self) -> int:
        """As many multiplications as an energy takes."""
        return 1

    def __call__(self, x: Tensor) -> Tensor:
        """E(v), `(B,)`."""
        v = x.flatten(1)
        return -(v @ self.bias) - 0.5 * torch.linalg.vecdot(v @ self.couplings, v)

    def free_energy(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """βE(v), `(B,)`."""
        return (self(x)[:, None] * beta).squeeze(1)

    @torch.no_grad()
    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0, field: Tensor | float = 0.0) -> Tensor:
        """Each unit in turn given all others."""
        v = x.flatten(1).clone()
        # A unit is on where a number in [0, 1) is below σ(input), that is where its own logit is below the input.
        thresholds = uniform(v, generator).logit() - field
        inputs = torch.addmm(self.bias, v, self.couplings)
        slope = beta.squeeze(1) if isinstance(beta, Tensor) else beta
        for unit in range(v.shape[1]):
            new = (thresholds[:, unit] < slope * inputs[:, unit]).to(v.dtype)
            inputs = torch.addmm(inputs, (new - v[:, unit])[:, None], self.couplings[unit : unit + 1])
            v[:, unit] = new
        return v.reshape(x.shape)

    @torch.no_grad()
    def log_partition(self) -> float | None:
        """log Z in float64."""
        double, units = Couplings(*(part.double() for part in self)), len(self.bias)
        return enumerate_log_z(lambda v: -double(v), units) if units <= FEWEST_VISIBLE else None


class Model(MachineModel):
    """The energy `(B, *event) -> (B,)`."""

    sweep_passes = 1

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__()
        require_binary("boltzmann", facts)
        units = math.prod(facts.shape)
        self.bias = nn.Parameter(logit_of_mean(facts.mean))
        self.pairs = nn.Parameter(torch.zeros(units * (units - 1) // 2))  # U_ij for i < j, row by row
        self.units = units

    @torch.no_grad()
    def initialise(self, generator: Generator) -> Self:
        """Draw the couplings from one named stream."""
        self.pairs.copy_(0.01 * torch.randn(self.pairs.shape, generator=generator))
        return self

    def plain(self) -> Couplings:
        """Couplings and biases, in the graph of the weights."""
        row, column = torch.triu_indices(self.units, self.units, 1)
        upper = self.pairs.new_zeros(self.units, self.units).index_put((row, column), self.pairs)
        return Couplings(upper + upper.mT, self.bias)

"""Boltzmann machines with two hidden layers: what `dbn` and `dbm` share.

Their chains carry the first hidden layer along: a row of a chain is (v, h¹), V + H units, where an event has V. A sweep
moves both, `complete` makes rows of events, and `events` cuts the hidden part off again.

The energy of an *event* is variational: −E(v) ≤ log Σ_h exp(−E(v, h)), so −E(v) − log Z is a lower bound of log p(v)
(`bounded`). The energy of a *row* of a chain is the exact free energy of its h¹, with all other units summed out. So
the contrast of events with rows is the gradient of the bound on the log-likelihood.

Training is greedy first: for the share `greedy` of the budget only the first layer learns, as a restricted Boltzmann
machine of its own (stage 0). Then the second layer is put on top (stage 1), so that nothing changes at first.
"""

import copy
import math
from abc import abstractmethod
from typing import Any, Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn

from ebmbench.core.binary import draw_units, log_one_plus_exp
from ebmbench.core.dataset import Facts
from ebmbench.models.common.bipartite import Bipartite, logit_of_mean, require_binary, widest_uniform


class DeepSettings(BaseModel):
    """What both models need."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    hidden: int = Field(64, ge=1, description="units of the first hidden layer")
    greedy: float = Field(0.5, ge=0, lt=1, description="share of the budget in which only the first layer learns")


class DeepModel(nn.Module):
    """The variational energy of events, and the exact free energy of rows (v, h¹)."""

    stage: Tensor
    stages = 2
    bounded = True

    def __init__(self, name: str, settings: Any, facts: Facts, top: int) -> None:
        super().__init__()
        require_binary(name, facts)
        self.shape, self.visible, self.greedy = list(facts.shape), math.prod(facts.shape), settings.greedy
        self.weight = nn.Parameter(torch.empty(self.visible, settings.hidden))
        self.visible_bias = nn.Parameter(logit_of_mean(facts.mean))
        self.hidden_bias = nn.Parameter(torch.zeros(settings.hidden))
        self.top_weight = nn.Parameter(torch.zeros(settings.hidden, top))
        self.top_bias = nn.Parameter(torch.zeros(top))
        self.register_buffer("stage", torch.tensor(0))

    @torch.no_grad()
    def initialise(self, generator: Generator) -> Self:
        """Draw the weights from one named stream; without a greedy share the second layer begins at once."""
        reach = widest_uniform(*self.weight.shape)
        self.weight.copy_(reach * (2 * torch.rand(self.weight.shape, generator=generator) - 1))
        self._draw_top(generator)
        self.follow(0.0)
        return self

    def _draw_top(self, generator: Generator) -> None:
        """Draw the second layer's weights, if they do not come from the first."""

    @abstractmethod
    def _put_on_top(self) -> None:
        """Start the second layer."""

    @torch.no_grad()
    def follow(self, progress: float) -> None:
        """Begin the second stage once its share of the budget is due: called before each training step."""
        if int(self.stage) == 0 and progress >= self.greedy:
            self._put_on_top()
            self.stage.fill_(1)

    @property
    def first(self) -> Bipartite:
        """The first layer as a machine of its own."""
        return Bipartite(self.weight, self.visible_bias, self.hidden_bias)

    @property
    def row_units(self) -> int:
        """Units of a row of a chain."""
        return self.visible + len(self.hidden_bias)

    @property
    def sweep_passes(self) -> int:
        """There and back, through one layer or two."""
        return 4 if int(self.stage) else 2

    @torch.no_grad()
    def complete(self, x: Tensor, generator: Generator) -> Tensor:
        """Events as rows, with h¹ drawn by the way up; rows as they are."""
        flat = x.flatten(1)
        if flat.shape[1] == self.row_units:
            return flat
        return torch.cat([flat, draw_units(self.first.hidden(flat), generator)], dim=1)

    def events(self, rows: Tensor) -> Tensor:
        """Events of rows; events as they are."""
        return rows.flatten(1)[:, : self.visible].reshape(-1, *self.shape)

    def layer(self, rows: Tensor) -> Tensor:
        """h¹ of rows, `(B, H)`."""
        return rows[:, self.visible :]

    def forward(self, x: Tensor) -> Tensor:
        """The energy of events, or of rows."""
        flat = x.flatten(1)
        is_row = flat.shape[1] == self.row_units
        if int(self.stage) == 0:
            return self.first(flat[:, : self.visible])
        return self.machine().free_energy(self.layer(flat)) if is_row else self.variational(flat)

    @abstractmethod
    def variational(self, v: Tensor) -> Tensor:
        """E(v) of flat events, at least −log Σ_h exp(−E(v, h))."""

    @abstractmethod
    def machine(self) -> Bipartite:
        """The machine whose visible units are h¹, and whose Z is this model's."""

    @abstractmethod
    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0) -> Tensor:
        """One sweep of rows (events are completed first)."""

    @torch.no_grad()
    def free_energy(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """Of rows at β, for trades between temperatures."""
        if int(self.stage) == 0:
            return self.first.free_energy(x[:, : self.visible], beta)
        return self.machine().free_energy(self.layer(x), beta)

    @torch.no_grad()
    def partition_machine(self) -> Bipartite:
        """The machine whose log Z normalises this model, in constants: over v in stage 0, then over h¹."""
        own = self.machine() if int(self.stage) else self.first
        return Bipartite(*(part.detach().clone() for part in own))

    def lift(self, x: Tensor, generator: Generator) -> Tensor:
        """Visible units of that machine for events: near its own samples, if the events are the model's."""
        return self.layer(self.complete(x, generator)) if int(self.stage) else x.flatten(1)

    def log_partition(self) -> float | None:
        """log Z, if one side of that machine has few units."""
        return self.partition_machine().log_partition()

    def fixed(self) -> "DeepModel":
        """Today's weights, for a chain."""
        return copy.deepcopy(self).requires_grad_(False)


def entropy(logits: Tensor) -> Tensor:
    """The entropy of independent units with these logits, `(B,)`."""
    return (log_one_plus_exp(logits) - logits * logits.sigmoid()).sum(1)

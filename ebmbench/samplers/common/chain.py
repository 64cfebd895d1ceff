"""The contract of a sampler: its settings in `params.yaml`, what a run returns, and the diagnostic of its gradients."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy

NUMBERS_HELD = 2**16  # norms that wait for their mean
NO_SWEEPS = "an energy without Gibbs sweeps, allowed: a Boltzmann machine"


@dataclass(frozen=True)
class Chain:
    """End points `(B, *event)` without gradient, and diagnostics by name (scalar tensors, read only when logged)."""

    x: Tensor
    diagnostics: dict[str, Tensor] = field(default_factory=dict)

    def columns(self) -> dict[str, Tensor]:
        """The diagnostics as columns of a training history."""
        return {"chain_" + name: value for name, value in self.diagnostics.items()}


class SamplerSettings(BaseModel):
    """What every sampler needs. Lengths are in units of the data's scale, so that one value serves all data."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    kind: Any
    steps: int = Field(10, ge=1)
    needs_energy: ClassVar[bool] = True  # or the score alone moves chains
    moves_binary: ClassVar[bool] = False  # whether events of 0 and 1 stay such events
    needs_machine: ClassVar[tuple[str, ...]] = ()  # "real", "binary": for such data the energy must offer Gibbs sweeps

    @property
    def temperature(self) -> float:
        """T, where chains tend to exp(−E/T): 1 for every valid sampler."""
        return 1.0

    @property
    def steering(self) -> float:
        """The length of a whole run's drift for ‖∇E‖ = 1, over the deviation that its noise gives a coordinate."""
        return math.inf

    @property
    def total_steps(self) -> int:
        """Steps of a whole run."""
        return self.steps

    @property
    def alike(self) -> bool:
        """Whether all steps are alike. Then a run may be cut anywhere, and its second half is a chain of its own."""
        return True

    def parts(self, most: int) -> list[Self]:
        """The run cut into at most so many consecutive runs, shorter ones first."""
        return [self.model_copy(update={"steps": steps}) for steps in moments(self.steps, most)]

    def fit_to(self, facts: Facts) -> Self:
        """The same settings in the data's own units; a sampler without lengths has nothing to convert."""
        return self

    def misfit(self, facts: Facts | None, levels: bool, at_data: bool) -> str | None:
        """Why these settings cannot be used, as `key: found …, allowed: …`, or None.

        `levels`: the network has noise levels; `at_data`: chains start at data, not at noise. Facts are None until the
        data are prepared. `run` refuses the same settings; this finds it out before anything is trained.
        """
        return None

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Move the chains from `x`; the settings must be in the data's own units (`fit_to`)."""
        raise NotImplementedError


class MachineSettings(SamplerSettings):
    """What a sampler needs that moves by a Boltzmann machine's own sweeps."""

    steps: int = Field(1, ge=1, description="sweeps")
    moves_binary: ClassVar[bool] = True
    needs_machine: ClassVar[tuple[str, ...]] = ("real", "binary")


class SteppingSettings(SamplerSettings):
    """What a sampler needs that moves by small steps from where it is."""

    step_size: float = Field(0.0025, gt=0, description="η in units of the data's variance")

    def fit_to(self, facts: Facts) -> Self:
        """The same settings in the data's own units."""
        return self.model_copy(update={"step_size": self.step_size * facts.unit**2})


def moments(total: int, most: int) -> Iterator[int]:
    """Lengths of the parts of `total` steps, `most` at the most: they end at 1, 2, 5, 10, 20, 50, … and the total."""
    ends = [digit * 10**power for power in range(9) for digit in (1, 2, 5) if digit * 10**power < total]
    ends = [*ends, total][-most:]
    return (end - start for start, end in zip([0, *ends], ends, strict=False))


class GradientNorms:
    """The mean norm of the score along chains like `x` `(B, *event)` of `steps` steps, and at their end.

    Nothing is read before the end, so a chain on another device never waits. Means are taken of many steps together,
    because small chains spend their time on calls and not on arithmetic.
    """

    def __init__(self, x: Tensor, steps: int) -> None:
        rows = max(1, min(steps, NUMBERS_HELD // max(1, len(x))))
        self.held = x.new_empty(rows, len(x))
        self.rows = list(self.held)
        self.total, self.last = x.new_zeros(()), x.new_zeros(())
        self.waiting = self.steps = 0

    def add(self, s: Tensor) -> None:
        """One step's scores `(B, *event)`."""
        torch.linalg.vector_norm(s if s.dim() == 2 else s.flatten(1), dim=1, out=self.rows[self.waiting])
        self.waiting += 1
        self.steps += 1
        if self.waiting == len(self.rows):
            self._sum()

    def diagnostics(self) -> dict[str, Tensor]:
        """`gradient_norm` and `last_gradient_norm`."""
        self._sum()
        return {"gradient_norm": self.total / max(1, self.steps), "last_gradient_norm": self.last}

    def _sum(self) -> None:
        if self.waiting:
            means = self.held[: self.waiting].mean(1)
            self.total, self.last = self.total + means.sum(), means[-1]
            self.waiting = 0

"""A model under judgement, and the value that a metric gives of it, or the reason why there is none."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from ebmbench.core.energy import Energy
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.flow import Flow

MISCALIBRATED, UNMIXED = "miscalibrated", "unmixed"  # faults

Score = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Value:
    """A number with its standard error, sample count and protocol; or no number, and why.

    `fault` is the verdict (`experiment/verdict.py`) if there is no number because something is wrong with the model.
    """

    value: float | None = None
    error: float | None = None
    n: int | None = None
    protocol: str = ""
    reason: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Subject:
    """A model under judgement: an energy in float64 and samples `(N, d)`, either of which may be missing.

    `score` may be there without an energy; `sampler` names where the samples come from. Samples are of one `kind`:
    buffer, short, long, data (chains from data) or, of baselines, exact. Kinds are never mixed. `trace`
    `(chains, draws, K)` follows K numbers, called `traced`, along the second half of the long runs.

    A model with noise levels has a `flow`: then its density is that of the flow, and `energy` and `score` are those of
    the narrowest level.
    """

    energy: Energy | None
    samples: Tensor | None
    target: Density | None = None
    learned: dict[str, float] = field(default_factory=dict)
    score: Score | None = None
    sampler: str = ""
    kind: str = ""
    trace: Tensor | None = None
    traced: tuple[str, ...] = ()
    flow: Flow | None = None
    target_origin: Any = None  # what makes the target of the data's density, if that is known: settings and code


class Unavailable(Exception):
    """Raised inside a metric when what it needs is not there; becomes a `Value` with this reason, and fault."""

    def __init__(self, reason: str, fault: str = "") -> None:
        super().__init__(reason)
        self.fault = fault

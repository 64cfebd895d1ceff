"""Watching a run: what a step shows of its health, and when it has diverged.

Given up is a run whose loss, parameter gradient, energies (of data, noise and chains alike) or gradients along chains
are not finite; whose energies, or gradients along chains, are beyond the limits of `training.divergence`; and one that
has found the trivial solution E = c: for a tenth of the budget no two events of a step, be they data, noise or on
chains, differ by more than `flat` in their log-density −E/T (T is that of the training chains, else 1). Energies are
those that the step computes anyway: nothing is drawn or evaluated to watch them, so a healthy run is the same run with
and without. A network that is a score alone has no energies to watch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ebmbench.core.divergence import Divergence

PATIENCE = 0.1  # share of the budget that energies must be flat for: a network may start flat
CHAIN = "chain_gradient_norm"
SAID = {
    "loss": "loss",
    "gradient_norm": "gradient norm",
    "lowest_energy": "energy",
    "highest_energy": "energy",
    CHAIN: "gradient norm along chains",
}

Values = dict[str, float]


class Diverged(Exception):
    """Training is given up; the weights are still those that the last healthy step left.

    `values` are those of the step at fault, `before` those of the last healthy one.
    """

    def __init__(self, cause: str, values: Values | None = None, before: Values | None = None) -> None:
        super().__init__(cause)
        self.values, self.before = values or {}, before or {}

    def told(self) -> str:
        """The cause, with the last healthy values."""
        return f"{self} ({_listed(self.before)} before)" if self.before else str(self)

    def as_dict(self) -> dict[str, Any]:
        """For `status.json`, where a value that is not finite is a word: JSON has no number for it."""
        return {"cause": str(self), "values": _plain(self.values), "before": _plain(self.before)}


def readings(loss: Tensor, norm: Tensor, energies: Sequence[Tensor], told: dict[str, Tensor]) -> Values:
    """The numbers that a step is judged by, brought from the device all at once."""
    found = {"loss": loss.detach(), "gradient_norm": norm}
    if energies:
        low, high = torch.cat([part.flatten() for part in energies]).aminmax()
        found |= {"lowest_energy": low, "highest_energy": high}
    if CHAIN in told:
        found[CHAIN] = told[CHAIN]
    numbers: list[float] = torch.stack([value.double() for value in found.values()]).tolist()
    return dict(zip(found, numbers, strict=True))


@dataclass
class Watch:
    """Looks at every step of one run."""

    limits: Divergence
    budget: int
    temperature: float
    flat_since: int | None = None  # passes
    before: Values = field(default_factory=dict)

    def look(self, values: Values, step: int, passes: int) -> None:
        """Raise `Diverged` if a step's values are those of a run that has."""
        cause = _not_finite(values) or self._beyond(values) or self._flat(values, passes)
        if cause:
            raise Diverged(f"{cause} at step {step}", values, self.before)
        self.before = values

    def state(self) -> dict[str, Any]:
        """What the next look depends on."""
        return {"flat_since": self.flat_since, "before": self.before}

    def restore(self, state: dict[str, Any]) -> None:
        """Become the watch whose `state()` this was."""
        self.flat_since, self.before = state["flat_since"], state["before"]

    def _beyond(self, values: Values) -> str:
        limits = dict.fromkeys(("lowest_energy", "highest_energy"), self.limits.energy)
        limits[CHAIN] = self.limits.gradient
        for name, limit in limits.items():
            if abs(value := values.get(name, 0.0)) > limit:
                return f"{SAID[name]} is {value:.6g}, beyond {limit:g},"
        return ""

    def _flat(self, values: Values, passes: int) -> str:
        if "lowest_energy" not in values:
            return ""
        spread = values["highest_energy"] - values["lowest_energy"]
        if spread >= self.limits.flat * self.temperature:
            self.flat_since = None
            return ""
        self.flat_since = passes if self.flat_since is None else self.flat_since
        if passes - self.flat_since < PATIENCE * self.budget:
            return ""
        return f"E = c: no two energies differ by more than {spread:.3g}"


def _not_finite(values: Values) -> str:
    for name, value in values.items():
        if not math.isfinite(value):
            return f"{SAID[name]} is {value}"
    return ""


def _listed(values: Values) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in values.items())


def _plain(values: Values) -> dict[str, float | str]:
    return {name: value if math.isfinite(value) else str(value) for name, value in values.items()}

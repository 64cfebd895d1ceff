"""Watching a run: the numbers of a step that show its health, and when it has diverged.

A run is given up if its loss, parameter gradient, energies (of data, noise and chains alike) or gradients along chains
are not finite; if its energies, or gradients along chains, are beyond the limits of `training.divergence`; if loss or
gradient of its adversary (the second player, if it has one) is not finite, or that loss beyond the limit of energies;
and if it for a tenth of the budget

- has been at the trivial solution E = c: no two events of a step, be they data, noise or on chains, differ by more than
  `flat` in their log-density −E/T (T is that of the training chains, else 1);
- has been there for all that its cold chains can tell (T ≤ 0.01, where what single precision leaves of a constant is
  already a landscape): over a run K·½η·‖∇E‖ takes them less far than `drift` times their noise, τ·√(K·d), and ‖∇E‖ is
  below half of what it was at the first step, for random weights are nearly as flat; or
- has lost its chains: they end, on average, further than `gap` nats per coordinate from the data's energy, where the
  model has next to no mass. Only of valid samplers (T = 1): short runs at a low temperature never were in equilibrium.

The step computes all this anyway: nothing is drawn or evaluated to watch a run, so watching changes no healthy run. A
network that is a score alone has no energies to watch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ebmbench.config.sections import Divergence

PATIENCE = 0.1  # share of the budget: a network may start flat, and chains may start far away
COLD = 0.01  # temperature of chains that are there to descend: the suites' have 1e-4 and less
CHAIN, GAP = "chain_gradient_norm", "energy_gap"
ADVERSARY, ADVERSARY_NORM = "adversary_loss", "adversary_gradient_norm"
WORDS = {
    "loss": "loss",
    "gradient_norm": "gradient norm",
    "lowest_energy": "energy",
    "highest_energy": "energy",
    CHAIN: "gradient norm along chains",
    GAP: "energy gap",
    ADVERSARY: "loss of the adversary",
    ADVERSARY_NORM: "gradient norm of the adversary",
}

Values = dict[str, float]


class Diverged(Exception):
    """Training is given up; the weights are still those that the last healthy step left.

    `values` are those of the step at fault, `before` those of the last healthy one.
    """

    def __init__(self, cause: str, values: Values | None = None, before: Values | None = None) -> None:
        super().__init__(cause)
        self.values, self.before = values or {}, before or {}

    def describe(self) -> str:
        """The cause, and the last healthy values."""
        return f"{self} ({_listed(self.before)} before)" if self.before else str(self)

    def as_dict(self) -> dict[str, Any]:
        """For `status.json`, where a value that is not finite is a word: JSON has no number for it."""
        return {"cause": str(self), "values": _plain(self.values), "before": _plain(self.before)}


def readings(loss: Tensor, norm: Tensor, energies: Sequence[Tensor], reported: dict[str, Tensor]) -> Values:
    """The numbers that a step is judged by, copied from the device all at once; `reported` is the method's."""
    # The adversary first: what is wrong with it is soon wrong with the loss.
    found = {name: reported[name] for name in (ADVERSARY, ADVERSARY_NORM) if name in reported}
    found |= {"loss": loss.detach(), "gradient_norm": norm}
    if energies:
        low, high = torch.cat([part.flatten() for part in energies]).aminmax()
        found |= {"lowest_energy": low, "highest_energy": high}
    found |= {name: reported[name] for name in (CHAIN, GAP) if name in reported}
    numbers: list[float] = torch.stack(list(found.values())).tolist()
    return dict(zip(found, numbers, strict=True))


@dataclass
class Watch:
    """Looks at every step of one run."""

    limits: Divergence
    budget: int
    temperature: float
    steering: float  # of the training chains, as their sampler defines it
    size: int  # coordinates of an event
    since: dict[str, int] = field(default_factory=dict)  # passes when each suspicion began
    before: Values = field(default_factory=dict)
    first: float | None = None  # ‖∇E‖ along chains at the first step

    def look(self, values: Values, step: int, passes: int) -> None:
        """Raise `Diverged` if a step's values show it."""
        cause = _not_finite(values) or self._beyond(values)
        cause = cause or self._flat(values, passes) or self._loose(values, passes) or self._apart(values, passes)
        if cause:
            raise Diverged(f"{cause} at step {step}", values, self.before)
        self.before = values

    def state(self) -> dict[str, Any]:
        """All that the next look depends on."""
        return {"since": self.since, "before": self.before, "first": self.first}

    def restore(self, state: dict[str, Any]) -> None:
        """Become the watch whose `state()` this was."""
        self.since, self.before, self.first = dict(state["since"]), state["before"], state["first"]

    def _beyond(self, values: Values) -> str:
        limits = dict.fromkeys(("lowest_energy", "highest_energy", ADVERSARY), self.limits.energy)
        limits[CHAIN] = self.limits.gradient
        for name, limit in limits.items():
            if abs(value := values.get(name, 0.0)) > limit:
                return f"{WORDS[name]} is {value:.6g}, beyond {limit:g},"
        return ""

    def _flat(self, values: Values, passes: int) -> str:
        if "lowest_energy" not in values:
            return ""
        spread = values["highest_energy"] - values["lowest_energy"]
        lasts = self._lasts("flat", spread < self.limits.flat * self.temperature, passes)
        return f"E = c: no two energies differ by more than {spread:.3g}" if lasts else ""

    def _loose(self, values: Values, passes: int) -> str:
        if CHAIN not in values or self.temperature > COLD:
            return ""
        norm = values[CHAIN]
        self.first = norm if self.first is None else self.first
        share = self.steering * norm / math.sqrt(self.size)
        lasts = self._lasts("loose", share < self.limits.drift and norm < self.first / 2, passes)
        return f"E = c: it moves chains {share:.3g} times as far as noise does" if lasts else ""

    def _apart(self, values: Values, passes: int) -> str:
        gap = values.get(GAP, 0.0) if self.temperature == 1 else 0.0
        lasts = self._lasts("apart", abs(gap) > self.limits.gap * self.size, passes)
        side = "above" if gap > 0 else "below"
        return f"chains have left the model: they end {abs(gap):.4g} nats {side} the data" if lasts else ""

    def _lasts(self, what: str, is_so: bool, passes: int) -> bool:
        """Whether it has been so for long enough."""
        if not is_so:
            self.since.pop(what, None)
            return False
        return passes - self.since.setdefault(what, passes) >= PATIENCE * self.budget


def _not_finite(values: Values) -> str:
    for name, value in values.items():
        if not math.isfinite(value):
            return f"{WORDS[name]} is {value}"
    return ""


def _listed(values: Values) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in values.items())


def _plain(values: Values) -> dict[str, float | str]:
    return {name: value if math.isfinite(value) else str(value) for name, value in values.items()}

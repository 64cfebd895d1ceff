"""The health of a run: what a reader must know before believing its numbers. Density and sampler are judged apart.

The density (numbers that need the energy alone):
- `ok`: a metric found its mass: a grid that holds it, or an AIS bracket of log Z that is not crossed.
- `miscalibrated`: the energy is no logarithm of a density: no grid holds its mass; or the flow of a noise ladder could
  not be solved to a density of mass 1.
- `not judged`: no metric could tell, for want of an energy, or because chains of AIS have not settled.

The sampler (numbers that need the long runs):
- `ok`: the chains have met: R̂ of at most `health.r_hat` and at least `health.ess` effective draws.
- `short-run-only`: long runs collapse, their main metric is `health.collapse` times that of short runs or worse.
- `unmixed`: the chains have not met, but those of the same sampler on a known density have (`control.py`): it is the
  model that keeps them apart.
- `sampler limit`: neither have. The sampler cannot mix in so many steps even on the control, and nothing follows for
  the model.
- `not judged`: nothing was traced: there are no long runs, or their steps are not all alike (annealed samplers).

A run that did not come to its end is `diverged` or `skipped`, and neither side is judged. Its *word* is the worse of
the two sides, in the order of `WORDS`, so a run is `ok` only if both are; all reasons are given. A word is not a rank:
an unmixed run may be the best of all.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ebmbench.config.sections import Health
from ebmbench.metrics.common.evaluation import MISCALIBRATED, UNMIXED, Value

COLLAPSED, LIMIT, NOT_JUDGED, OK = "short-run-only", "sampler limit", "not judged", "ok"
WORDS = (MISCALIBRATED, COLLAPSED, UNMIXED, LIMIT, NOT_JUDGED, OK)
# A value of any of these shows that the energy has a mass and where it is.
WEIGHED = ("kl", "log_likelihood", "reverse_kl", "total_variation", "oracle_gap", "off_support", "ais_gap")
MIXED = ("r_hat", "ess")

Values = dict[tuple[str, str], Value]
"""By metric and kind of samples; the kind is empty for metrics that need none."""


@dataclass(frozen=True)
class Side:
    """A word and the reasons for it, none if it is ok."""

    word: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The word of a run, and why; and the words of its two sides, empty if it did not come to its end."""

    word: str
    reason: str = ""
    density: str = ""
    sampler: str = ""


@dataclass(frozen=True)
class Control:
    """How well the sampler of a run mixed on the control (`control.py`)."""

    r_hat: float
    ess: float

    def mixes(self, limits: Health) -> bool:
        """Whether it passes the test that models are put to."""
        return self.r_hat <= limits.r_hat and self.ess >= limits.ess


def verdict(values: Values, main: str, limits: Health, control: Callable[[], Control] | None) -> Verdict:
    """Of a run that came to its end; `main` is the first metric of the suite, `control` is asked only if need be.

    Baselines, which draw from their density itself, have no control.
    """
    density, sampler = judge_density(values), judge_sampler(values, main, limits, control)
    sides = sorted((density, sampler), key=lambda side: WORDS.index(side.word))
    reasons = dict.fromkeys(reason for side in sides for reason in side.reasons)
    return Verdict(sides[0].word, "; ".join(reasons), density.word, sampler.word)


def judge_density(values: Values) -> Side:
    """By the faults that metrics found, else by whether one of them found the mass."""
    faults = [value.reason for value in values.values() if value.fault == MISCALIBRATED]
    if faults:
        return Side(MISCALIBRATED, tuple(faults))
    weighed = [value for metric in WEIGHED if (value := values.get((metric, ""))) is not None]
    if any(value.value is not None for value in weighed):
        return Side(OK)
    why = next((value.reason for value in weighed if value.reason), "no metric looks for its mass")
    return Side(NOT_JUDGED, (f"density not judged: {why}",))


def judge_sampler(values: Values, main: str, limits: Health, control: Callable[[], Control] | None) -> Side:
    """By the long runs: against short ones, and by whether their chains have met where those of the control have."""
    mixing = _judge_mixing(values, limits, control)
    short, long = (_number(values, main, kind) for kind in ("short", "long"))
    if short is not None and long is not None and long > limits.collapse * short > 0:
        collapse = f"{main} of long runs is {long / short:.3g} times that of short ones"
        return Side(COLLAPSED, (collapse, *(mixing.reasons if mixing.word != NOT_JUDGED else ())))
    return mixing


def _judge_mixing(values: Values, limits: Health, control: Callable[[], Control] | None) -> Side:
    if control is None:
        return Side(OK)
    traced = [value for metric in MIXED if (value := values.get((metric, ""))) is not None]
    r_hat, ess = (_number(values, metric, "") for metric in MIXED)
    faults = [value.reason for value in traced if value.fault == UNMIXED]
    apart = bool(faults) or (r_hat is not None and r_hat > limits.r_hat) or (ess is not None and ess < limits.ess)
    if not apart:
        if r_hat is not None or ess is not None:
            return Side(OK)
        why = next((value.reason for value in traced if value.reason), "no metric looks at its chains")
        return Side(NOT_JUDGED, (f"sampler not judged: {why}",))
    known = control()
    if r_hat is not None and r_hat > limits.r_hat:
        faults.append(f"R̂ of long runs is {r_hat:.3g} (of the control {known.r_hat:.3g})")
    if ess is not None and ess < limits.ess:
        faults.append(f"long runs have {ess:.0f} effective draws (the control {known.ess:.0f})")
    return Side(UNMIXED if known.mixes(limits) else LIMIT, tuple(faults))


def _number(values: Values, metric: str, kind: str) -> float | None:
    found = values.get((metric, kind))
    return found.value if found is not None else None

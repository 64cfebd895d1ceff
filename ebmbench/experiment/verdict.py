"""The health of a run in one word, with the reasons: what a reader must know before believing its numbers.

- `ok`: none of what follows.
- `diverged`, `skipped`: the run's own end; it has no numbers.
- `miscalibrated`: the energy is not the logarithm of what it seems to be the density of: no grid holds its mass, or the
  AIS bracket of log Z is crossed (its samples are not the model's).
- `short-run-only`: long runs collapse, their main metric is `health.collapse` times that of short runs or worse.
- `unmixed`: the chains behind the long-run samples have not met: R̂ above `health.r_hat`, or fewer than `health.ess`
  effective draws. It tells of the sampler as much as of the model.

Of several, the first of these counts as the word; all are among the reasons. A word is not a rank: an unmixed run may
be the best of all.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ebmbench.config.sections import Health
from ebmbench.metrics.common.evaluation import MISCALIBRATED, UNMIXED, Value

COLLAPSED = "short-run-only"
WORDS = (MISCALIBRATED, COLLAPSED, UNMIXED)

Values = dict[tuple[str, str], Value]
"""By metric and kind of samples; the kind is empty for metrics that need none."""


@dataclass(frozen=True)
class Verdict:
    """The word, and why; nothing to say of a run that is ok."""

    word: str = "ok"
    reason: str = ""


def verdict(values: Values, main: str, limits: Health) -> Verdict:
    """Of a run that came to its end; `main` is the first metric of the suite."""
    found = [*_faults(values), *_collapse(values, main, limits), *_mixing(values, limits)]
    words = [word for word in WORDS if word in dict(found)]
    reasons = dict.fromkeys(reason for word in words for given, reason in found if given == word)
    return Verdict(words[0], "; ".join(reasons)) if words else Verdict()


def _faults(values: Values) -> Iterator[tuple[str, str]]:
    """What a metric found wrong when it had to do without a number."""
    return ((value.fault, value.reason) for value in values.values() if value.fault)


def _collapse(values: Values, main: str, limits: Health) -> Iterator[tuple[str, str]]:
    short, long = (_value(values, main, kind) for kind in ("short", "long"))
    if short is not None and long is not None and long > limits.collapse * short > 0:
        yield COLLAPSED, f"{main} of long runs is {long / short:.3g} times that of short ones"


def _mixing(values: Values, limits: Health) -> Iterator[tuple[str, str]]:
    r_hat, ess = (_value(values, metric, "") for metric in ("r_hat", "ess"))
    if r_hat is not None and r_hat > limits.r_hat:
        yield UNMIXED, f"R̂ of long runs is {r_hat:.3g}"
    if ess is not None and ess < limits.ess:
        yield UNMIXED, f"long runs have {ess:.0f} effective draws"


def _value(values: Values, metric: str, kind: str) -> float | None:
    found = values.get((metric, kind))
    return found.value if found is not None else None

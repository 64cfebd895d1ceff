"""The contract of a claim.

A claim is one file `claims/<name>.py`. Its docstring tells what the source says and the formula behind it, its first
line is the claim's title, and `PAPER` is where the source says it. It holds

- `CLAIM`, what is claimed and when it counts as reproduced, fixed before anybody looks;
- `measure(arm, seed, bench)`, the experiment: numbers and arrays, from named streams of that seed alone;
- `statistics(arms)`, one number for each criterion, from what all arms measured at one seed;
- `draw(figure, seeds)`, the source's figure drawn anew, from what was measured at all seeds.

A measurement is named by its claim's code and by all that this imports, so a claim imports by name all that it uses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.config.registry import load

Measures = Mapping[str, NDArray[Any]]
"""What one arm gave at one seed; a number is an array without dimensions."""

Arms = Mapping[str, Measures]
"""What all arms gave at one seed."""


@dataclass(frozen=True)
class Claim:
    """What is claimed, and how it is decided.

    `sentence` is the claim in our words, `here` what is run and where that differs from the source. An arm is one
    setting of the experiment; each is measured at as many `seeds`. The claim holds if all criteria do. `pilots` says
    what was tried with other seeds before the rule was fixed, and what that changed; `offset` is how many seeds are
    skipped because they were looked at before.
    """

    sentence: str
    here: str
    seeds: int
    criteria: tuple[Criterion, ...]
    caption: str
    arms: tuple[str, ...] = ("all",)
    pilots: str = ""
    offset: int = 0


class ClaimFile(Protocol):
    """A module of `ebmbench/claims`."""

    CLAIM: Claim

    def measure(self, arm: str, seed: int, bench: Bench) -> Mapping[str, Any]:
        """The experiment."""

    def statistics(self, arms: Arms) -> Mapping[str, float]:
        """One number per criterion, of one seed."""

    def draw(self, figure: Figure, seeds: Sequence[Arms]) -> None:
        """The figure."""


def open_claim(name: str) -> ClaimFile:
    """The claim of that name."""
    module: ModuleType = load("claims", name)
    return cast(ClaimFile, module)


def stacked(seeds: Sequence[Arms], arm: str, key: str) -> NDArray[Any]:
    """One measure of one arm over all seeds, `(seeds, …)`: what most figures begin with."""
    return np.stack([arms[arm][key] for arms in seeds])

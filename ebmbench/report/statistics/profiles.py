"""Performance profiles: on which share of problems a method is within a factor of the best.

Dolan & Moré, "Benchmarking optimization software with performance profiles", Mathematical Programming 2002:

    ρ_m(τ) = 1/T #{problems t : ℓ(t, m) ≤ τ · min over m' of ℓ(t, m')},

where ℓ(t, m) is the median over the seeds of the loss of method m on problem t, a dataset at a budget. ρ_m(1) is the
share of problems on which m has the best median. A run without a value has an infinite loss; if the median is
infinite, the problem counts as one that m does not solve within any factor. A profile needs losses with a zero, as
divergences and FID ratios have, and likelihoods have not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ebmbench.report.results.groups import direction
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.contests import Contest
from ebmbench.report.statistics.frontiers import find_frontiers
from ebmbench.report.statistics.ranks import Array
from ebmbench.report.text.words import list_names

FEWEST = 4  # datasets: of fewer a table says it all
FACTORS = {1.0: "has the best median", 2.0: "is within twice the best", 10.0: "is within ten times the best"}


@dataclass(frozen=True)
class Profile:
    """`ratios` is `(problems, methods)`: the median of a method over the best one, infinite where it has none."""

    names: list[str]
    ratios: Array

    def counts(self, factor: float) -> list[int]:
        """On how many problems each method is within a factor of the best."""
        return [int(count) for count in (self.ratios <= factor).sum(axis=0)]


def has_profile(results: Results, contest: Contest) -> bool:
    """Whether a contest's own profile is shown; data at several budgets have one over all of them."""
    return contest.decided and len(contest.datasets) >= FEWEST and not find_frontiers(results)


def title_of(contest: Contest) -> str:
    """What the figure of a contest's profile is called."""
    return f"{contest.title}: performance profile"


def find_profile(results: Results, contests: Sequence[Contest]) -> Profile | None:
    """The profile over all tasks of these contests; of the methods that take part in all of them, if two do."""
    chosen = [one for one in contests if _has_zero(results, one)]
    names = [name for name in (chosen[0].names if chosen else []) if all(name in one.names for one in chosen)]
    if len(names) < 2:
        return None
    losses = [np.median(one.losses[:, :, [one.names.index(name) for name in names]], axis=1) for one in chosen]
    return Profile(names, compute_ratios(np.concatenate(losses)))


def _has_zero(results: Results, contest: Contest) -> bool:
    known = contest.losses[np.isfinite(contest.losses)]
    return direction(results.frame, contest.metric) == "lower" and len(known) > 0 and float(known.min()) >= 0


def compute_ratios(losses: Array) -> Array:
    """Losses `(problems, methods)` over the least of their problem; 1 for the best itself, even if that is zero."""
    best = losses.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(losses == best, 1.0, losses / best)
    return np.where(np.isfinite(losses), ratios, np.inf)


def describe_profile(profile: Profile, noun: str) -> str:
    """Who is most often best, and most often near the best."""
    parts = []
    for factor, words in FACTORS.items():
        counts = profile.counts(factor)
        first = [name for name, count in zip(profile.names, counts, strict=True) if count == max(counts)]
        parts.append(f"{words}: {list_names(first)} ({max(counts)})")
    return f"Who most often, of {len(profile.ratios)} {noun}, {'; '.join(parts)}."

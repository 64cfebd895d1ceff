"""Ranks over all datasets together: a figure and a table for each contest, and who is left out of it and why."""

from collections.abc import Mapping

import numpy as np

from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.contests import Contest, find_contests
from ebmbench.report.statistics.frontiers import find_frontiers
from ebmbench.report.statistics.profiles import describe_profile, find_profile, has_profile, title_of
from ebmbench.report.statistics.ranks import PLACES, Estimate, improvement, mean_ranks, ties
from ebmbench.report.text.numbers import format_fixed, plural
from ebmbench.report.text.tables import markdown_table
from ebmbench.report.text.words import PROTOCOL

TITLE = "Ranks"
ORDER = 50
ABOUT = (
    "Methods are ranked on each dataset and seed, 1 is best; **bold** ties with the best mean rank. Beside it, the "
    "probability that a run is better than one of another method. In brackets, "
    f"[95 % intervals]({PROTOCOL}#statistics). Ranks do not say by how much a method is better."
)
LAST = "A fraction in brackets counts the runs with a value; the others rank last."
HEADER = ["method", "mean rank ↓", "probability of improvement"]


def text(results: Results) -> str:
    """A part for each contest; empty if no contest has two methods and two seeds."""
    found = find_contests(results)
    decided = [one for one in found if one.decided]
    if not decided:
        return ""
    shown = {image.title: image.markdown() for image in results.images.get("ranking", ())}
    frontiers = bool(find_frontiers(results))
    parts = [
        "\n\n".join(
            filter(
                None,
                [
                    f"### {one.title}",
                    shown.get(one.title),
                    _table(one),
                    _remarks(one, frontiers),
                    *_profile(results, one, shown),
                ],
            )
        )
        for one in decided
    ]
    alone = [f"{one.title}: nothing to rank, {_alone(one)}." for one in found if len(one.names) < 2]
    return "\n\n".join([ABOUT, *parts, *alone])


def _table(contest: Contest) -> str:
    """Methods by mean rank; each is compared with the first, and the first with the second."""
    ranks, better, bold = mean_ranks(contest.losses), improvement(contest.losses), ties(contest.losses)
    rows = []
    for place, name in enumerate(contest.names):
        rival = 1 if place == 0 else 0
        rank = _bracketed(ranks, place)
        over = f"{_bracketed(better, (place, rival))} over {contest.names[rival]}"
        rows.append([f"{name}{_share(contest, place)}", f"**{rank}**" if bold[place] else rank, over])
    return markdown_table(HEADER, rows)


def _bracketed(estimate: Estimate, place: int | tuple[int, int]) -> str:
    """`2.67 (1.79–3.54)`."""
    mean, low, high = (
        format_fixed(float(part[place]), PLACES) for part in (estimate.mean, estimate.low, estimate.high)
    )
    return f"{mean} ({low}–{high})"


def _remarks(contest: Contest, frontiers: bool) -> str:
    """How many runs are ranked, what a fraction means, if there is any, and who is left out."""
    reasons: dict[str, list[str]] = {}
    for name, reason in contest.absent.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    absent = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
    lost = LAST if np.isinf(contest.losses).any() else ""
    tasks, seeds, _ = contest.losses.shape
    of = f"{plural(tasks, 'pair')} of dataset and budget" if frontiers else plural(tasks, "dataset")
    return " ".join(filter(None, [f"{of}, {plural(seeds, 'seed')}.", lost, f"Left out: {absent}." if absent else ""]))


def _profile(results: Results, contest: Contest, shown: Mapping[str, str]) -> list[str]:
    """The performance profile and a sentence, where there are datasets enough; none of data at several budgets."""
    profile = find_profile(results, [contest]) if has_profile(results, contest) else None
    return [shown.get(title_of(contest), ""), describe_profile(profile, "datasets")] if profile else []


def _share(contest: Contest, method: int) -> str:
    """How many runs have a value, ` (5/6)`, if not all do."""
    valued = np.isfinite(contest.losses[:, :, method])
    return "" if valued.all() else f" ({int(valued.sum())}/{valued.size})"


def _alone(contest: Contest) -> str:
    on = ", ".join(f"`{name}`" for name in contest.datasets)
    if contest.names:
        return f"only `{contest.names[0]}` has it on {on}"
    return f"no method has it on all of {on}"

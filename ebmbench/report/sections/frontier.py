"""Who wins at which compute: quality at several budgets, what it takes to reach a target, and the performance profile.

Only for suites that have some data at several budgets, as entries of their own (`statistics/frontiers.py`).
"""

import math
from itertools import groupby

from ebmbench.report.results.cells import LOST
from ebmbench.report.results.groups import RATIO, direction, heading, short_name
from ebmbench.report.results.kinds import SAMPLES
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.contests import Contest, find_contests
from ebmbench.report.statistics.fields import Field
from ebmbench.report.statistics.frontiers import KIND, Frontier, Point, find_frontiers
from ebmbench.report.statistics.profiles import describe_profile, find_profile
from ebmbench.report.text.images import show_images
from ebmbench.report.text.numbers import MISSING, format_number, format_range
from ebmbench.report.text.tables import format_share, markdown_table
from ebmbench.report.text.words import PROTOCOL, list_names

TITLE = "By compute"
ORDER = 12
ABOUT = (
    "Each budget has runs and a schedule of its own, so every number is of the end of a run. The median of "
    "{name} over the seeds and, in brackets, their range{better}. A run without a value counts as ∞; a fraction "
    "counts the runs that have one. **Bold**: best at this budget, or not told from the best by these seeds."
)
BETTER = {"lower": "; smaller is better", "higher": "; larger is better"}
# KL of 0.1 nats: the shape is right, as a picture shows it; 0.01: a hundredth of a nat, where few methods arrive.
# FID ratio of 10: digits can be recognised; 3: three times as far from the data as slightly noisy test images.
TARGETS: dict[str, tuple[float, ...]] = {"kl": (0.1, 0.01), RATIO: (10.0, 3.0)}
REACH = (
    "The least budget tried, in network passes, at which **every** seed reaches the target; ∞: none of the budgets "
    "that were tried. Only ends of runs count. [More on these numbers]({protocol}#by-compute)."
)


def text(results: Results) -> str:
    """A table for each source of data, the figures, and what it takes to reach a target; empty without budgets."""
    frontiers = find_frontiers(results)
    if not frontiers:
        return ""
    abouts = dict.fromkeys(_about(results, one) for one in frontiers)
    tables = [part for one in frontiers for part in (f"### {one.name}", _table(one))]
    figures = {image.title: image for image in results.images.get("frontier", ())}
    profile = find_profile(results, find_chosen_contests(results))
    figures_of = {title: show_images([figures[title]] if title in figures else []) for title in (AGAINST, PROFILE)}
    sentence = describe_profile(profile, "datasets and budgets") if profile else ""
    reach = [f"### {REACHED}", _targets(frontiers), REACH.format(protocol=PROTOCOL)] if _targets(frontiers) else []
    shown = [f"### {PROFILE}", figures_of[PROFILE], sentence] if profile else []
    return "\n\n".join(filter(None, [*abouts, *tables, figures_of[AGAINST], *reach, *shown]))


AGAINST, REACHED, PROFILE = "Quality against cost", "Passes to a target", "Performance profile"


def find_chosen_contests(results: Results) -> list[Contest]:
    """The contests whose tasks the profile is over: of images, short runs."""
    return [one for one in find_contests(results) if one.kind in ("", KIND)]


def describe_by_compute(frontier: Frontier) -> str:
    """A line of the answer: who leads up to which budget."""
    groups = [(words, list(part)) for words, part in groupby(frontier.fields, lambda one: _who(frontier.fields[one]))]
    parts = [f"{_span(frontier, budgets)} {words}" for words, budgets in groups]
    of = f" of {SAMPLES[frontier.kind]}" if frontier.kind else ""
    return f"**By compute, on `{frontier.name}`** ({short_name(frontier.metric)}{of}): {'; '.join(parts)}."


def _who(field: Field) -> str:
    leaders = list(field.leaders)
    return f"{list_names(leaders)}{' tie' if len(leaders) > 1 else ''}" if leaders else field.why_open


def _span(frontier: Frontier, budgets: list[int]) -> str:
    """`up to 2 M passes`, `at 8 M`, `from 8 M on`, of budgets that lie side by side."""
    every = list(frontier.datasets)
    low, high = format_budget(budgets[0]), format_budget(budgets[-1])
    passes = " passes" if budgets[0] == every[0] else ""
    if budgets == every:
        return f"from {low} to {high}{passes}, at each of {len(every)} budgets,"
    if len(budgets) == 1:
        return f"at {low}{passes}"
    return f"up to {high}{passes}" if passes else f"from {low} to {high}"


def format_budget(passes: int) -> str:
    """`0.5 M`: millions of passes."""
    return f"{passes / 1e6:g}\u00a0M"


def _about(results: Results, one: Frontier) -> str:
    better = BETTER.get(direction(results.frame, one.metric), "")
    of = f" of {SAMPLES[one.kind]}" if one.kind else ""
    return ABOUT.format(name=f"{short_name(one.metric)}{of}", better=better)


def _table(one: Frontier) -> str:
    """Methods by budgets."""
    better = {point.summary.direction for points in one.points.values() for point in points.values()} - {""}
    corner = f"median {heading(one.metric, min(better, default=''))}"
    rows = [
        [name, *(_cell(point, name in one.fields[budget].best) for budget, point in points.items())]
        for name, points in one.points.items()
    ]
    return markdown_table([corner, *(f"{format_budget(budget)} passes" for budget in one.datasets)], rows)


def _cell(point: Point, bold: bool) -> str:
    """The median with the range of the seeds, or with the share of runs that have a value."""
    if point.absent:
        return f"{MISSING} ({point.absent})" if point.absent in LOST else MISSING
    one = point.summary
    values = list(one.values.values())
    spread = f"\u00a0({format_range(min(values), max(values))})" if len(values) > 1 else ""
    text = format_number(point.median) + (spread if one.complete else format_share(one))
    return f"**{text}**" if bold else text


def _targets(frontiers: list[Frontier]) -> str:
    """Methods by targets; empty if no metric has one."""
    columns = [(one, target) for one in frontiers for target in TARGETS.get(one.metric, ())]
    names = dict.fromkeys(name for one in frontiers for name in one.points)
    header = [f"`{one.name}`, {short_name(one.metric)} ≤ {target:g}" for one, target in columns]
    rows = [[name, *(_passes_to(one, name, target) for one, target in columns)] for name in names]
    return markdown_table(["passes to the target", *header], rows) if columns else ""


def _passes_to(one: Frontier, name: str, target: float) -> str:
    points = {budget: point for budget, point in one.points.get(name, {}).items() if not point.absent}
    least = min((budget for budget, point in points.items() if point.reaches(target)), default=math.inf)
    if not points:
        return MISSING
    return format_budget(int(least)) if math.isfinite(least) else format_number(least)

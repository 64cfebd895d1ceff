"""Objectives crossed with training samplers: whether results differ by what is minimised or by the chains.

Only for suites in which at least two methods sweep their training sampler; there every objective stands with every
sampler. `ebmbench/report/statistics/factors.py` has the analysis.
"""

from collections.abc import Sequence

from ebmbench.report.results.groups import direction, heading, short_name
from ebmbench.report.results.suite import Results
from ebmbench.report.sections.glance import FRACTION, PARTIAL, format_cell
from ebmbench.report.statistics.factors import Crossing, Shares, explain_variation, find_crossings
from ebmbench.report.text.images import show_images
from ebmbench.report.text.numbers import MISSING
from ebmbench.report.text.tables import find_best, markdown_table
from ebmbench.report.text.words import SETTINGS, join_words, list_names

TITLE = "Objective or chains"
ORDER = 16
WHAT = (
    "Each objective was trained with chains of each sampler, all else as it was. Rows are objectives, columns are "
    "samplers of *training*; every model is judged in the same way. An entry is the median of {metric} over the seeds "
    "and, in brackets, their range. **Bold**: best, or not told from the best by these seeds, all cells of a table "
    "together. Every run has the same budget of network passes, so dear steps mean fewer updates; how the samplers "
    f"were set is in [settings]({SETTINGS})."
)
HOW = (
    "A two-way analysis of variance over the runs: the shares of the variation of {quantity} that the sampler, the "
    "objective and neither explain. *Neither* holds what only one pair of both explains, and *of it, seeds*: the "
    "difference between runs of one cell. Runs without a value are left out here: *failed* counts them."
)
DECIDES = {"sampler": "the chains decide", "objective": "the objective decides", "neither": "neither decides alone"}


def text(results: Results) -> str:
    """The tables, the figure, the shares and what follows; empty if samplers are not crossed with methods."""
    crossings = find_crossings(results)
    if not crossings:
        return ""
    metrics, quantities = (
        " or ".join(dict.fromkeys(names))
        for names in ((short_name(one.metric) for one in crossings), (one.quantity for one in crossings))
    )
    shares = [explain_variation(one.values) for one in crossings]
    what, tables = WHAT.format(metric=metrics), "\n\n".join(map(_table, crossings))
    parts = [
        tables,
        what + (PARTIAL if FRACTION.search(tables) else ""),
        show_images(results.images.get("samplers", ())),
    ]
    if any(shares):
        parts += [_shares_table(crossings, shares), HOW.format(quantity=quantities), _decide(crossings, shares)]
    return "\n\n".join(filter(None, parts))


def _table(one: Crossing) -> str:
    """Medians and ranges of a dataset."""
    bold = find_best(one.frame, one.dataset, one.metric)
    names = {pair: name for pair, name in _names(one).items() if name in bold}
    rows = []
    for objective in one.objectives:
        texts = {sampler: format_cell(one.cells.get((objective, sampler)), one.metric) for sampler in one.samplers}
        rows.append(
            [objective, *(f"**{text}**" if (objective, name) in names else text for name, text in texts.items())]
        )
    corner = f"{heading(one.metric, direction(one.frame, one.metric))} `{one.dataset}`"
    return markdown_table([corner, *one.samplers], rows)


def _names(one: Crossing) -> dict[tuple[str, str], str]:
    """The name of the row of each pair in the other tables."""
    found = {pair: rows.iloc[0] for pair, rows in one.cells.items()}
    return {pair: f"{row['method']} {row['settings']}".strip() for pair, row in found.items()}


def _shares_table(crossings: Sequence[Crossing], shares: Sequence[Shares | None]) -> str:
    rows = []
    for one, share in zip(crossings, shares, strict=True):
        parts = [share.sampler, share.objective, share.neither, share.seeds] if share else []
        runs = sum(map(len, one.values.values()))
        rows.append(
            [f"`{one.dataset}`", *(map(_percent, parts) if parts else [MISSING] * 4), str(runs), str(one.failed)]
        )
    return markdown_table(["explained by", "sampler", "objective", "neither", "of it, seeds", "runs", "failed"], rows)


def _decide(crossings: Sequence[Crossing], shares: Sequence[Shares | None]) -> str:
    """One sentence: the largest of the three shares decides."""
    found: dict[str, list[str]] = {}
    for one, share in zip(crossings, shares, strict=True):
        if share is not None:
            found.setdefault(share.largest, []).append(one.dataset)
    first, *others = (f"{DECIDES[name]} on {list_names(sets)}" for name, sets in found.items())
    return f"**By the largest share {join_words([first, *others], 'and')}.**"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"

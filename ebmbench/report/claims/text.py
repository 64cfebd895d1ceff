"""The numbers of a finding as a reader sees them.

The text of `claims.md`: all verdicts in one table, how they are reached, then each claim with numbers and figure.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ebmbench.report.claims.collect import Tested, outcome
from ebmbench.report.figures.image import Image
from ebmbench.report.results.cells import OTHERWISE
from ebmbench.report.sections.order import provenance_text
from ebmbench.report.text.escaping import cell, literal
from ebmbench.report.text.numbers import plural
from ebmbench.report.text.tables import markdown_table


def number(value: float | None) -> str:
    """Three digits that count: 0.0312, 4.1e-07, 1590."""
    if value is None:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        digits = f"{value:.3g}"
        return digits if "e" not in digits else f"{value:.0f}"
    return f"{value:.1e}"


def found(finding: dict[str, Any]) -> str:
    """Mean and limits, and the note of a finding that has none."""
    if finding["mean"] is None:
        return finding["note"] or "–"
    return f"{number(finding['mean'])} ({number(finding['low'])} … {number(finding['high'])})"


def power(finding: dict[str, Any]) -> str:
    """The power in per cent."""
    return "–" if finding["power"] is None else f"{100 * finding['power']:.0f} %"


MARKS = {"reproduced": "✓", "not reproduced": "✗", "undecided": "?"}
ABOUT = (
    "Each claim of the literature is an experiment with a rule that was fixed before its seeds were looked at: a "
    "statistic, a bound that means something, a side of it, and Student's one-sided test over seeds at level α. "
    "**Reproduced**: every criterion of the claim is met significantly. **Not reproduced**: one is significantly "
    "on the wrong side of its bound (at α over the number of criteria). **Undecided**: neither; the power says "
    "how likely the experiment was to show an effect as large as the source's. *Exact* criteria are mathematics: "
    "each seed must meet them. Every claim is decided by two disjoint sets of seeds, each on its own; where they "
    "disagree it is undecided, so what is reproduced has been so twice. Budgets were chosen with seeds that are "
    "not used here. In brackets are the limits at level α, or the smallest and largest value of an exact "
    "criterion; to refute one of m criteria takes α/m, so limits may lie just beyond a bound and leave it "
    "undecided. A training that diverged is judged by its last healthy state, as everywhere in the benchmark.\n\n"
    "A refuted claim is refuted *here*: at the size, on the data and with the settings that its section names."
)


def assemble_claims(claims: list[Tested], images: dict[str, Image], facts: dict[str, str]) -> str:
    """The whole page."""
    parts = [f"# ebmbench: claims of the literature\n\n{abstract(claims)}"]
    parts += [f"## Verdicts\n\n{verdict_table(claims)}", f"## How they are reached\n\n{ABOUT}", "## The claims"]
    parts += [section(one, images.get(one.name)) for one in claims]
    parts += [f"## Provenance\n\n{provenance_text(facts)}"]
    return "\n\n".join(parts) + "\n"


def abstract(claims: list[Tested]) -> str:
    """How many of which verdict, and whether other seeds agree."""
    counts = Counter(one.verdict for one in claims)
    told = ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items(), key=lambda pair: -pair[1]))
    repeated = [one for one in claims if one.again]
    same = sum(one.again == one.first for one in repeated)
    both = f" Two disjoint sets of seeds agree on {same} of {len(repeated)}." if repeated else ""
    stale = f" What is stale was {OTHERWISE}, so it decides nothing; `ebmbench run` makes it anew."
    return f"{plural(len(claims), 'claim')}: {told}.{both}{stale if counts['stale'] else ''}"


def verdict_table(claims: list[Tested]) -> str:
    """A row for each claim: what, where from, verdict (and those of the two sets, if they differ), what decided it."""
    header = ["claim", "source", "verdict", "what decided it", "found"]
    return markdown_table(header, [[cell(text) for text in _row(one)] for one in claims], left=5)


def _row(one: Tested) -> list[str]:
    link = f"[{literal(one.title)}](#{one.name})"
    said, numbers = literal(one.reason) or "–", "–"
    if one.deciding is not None:
        others = sum(outcome(row) == one.verdict for row in one.criteria) - 1
        more = f"; and {others} more" if others else ""
        said = f"{literal(one.deciding['says'])}: {literal(one.deciding['rule'].partition(' (')[0])}{more}"
        again = one.deciding["again"]
        numbers = found(one.deciding["finding"]) + (f"; again {found(again)}" if again else "")
    apart = f" ({one.first}, then {one.again})" if one.again not in ("", one.first) else ""
    return [link, literal(one.source), _marked(one.verdict) + apart, said, numbers]


def section(one: Tested, image: Image | None) -> str:
    """A claim: what is said, what is done, what came out."""
    return "\n\n".join(_paragraphs(one, image))


def _paragraphs(one: Tested, image: Image | None) -> Iterator[str]:
    yield f"### `{one.name}`"
    if not one.account:
        why = f": {literal(one.reason)}" if one.reason else ""
        yield f"**{_marked(one.verdict)}**{why}."
        return
    yield f"**{literal(one.title)}**"
    once_more = f": by the first seeds {one.first}, by others {one.again}" if one.again else ""
    yield f"{literal(one.account['sentence'])} *Source*: {literal(one.source)}."
    yield f"*Here*: {literal(one.account['here'])}"
    if one.account.get("pilots"):
        yield f"*Pilots*: {literal(one.account['pilots'])}"
    yield f"**{_marked(one.verdict)}**{once_more}."
    yield _criteria(one)
    if image is not None:
        yield image.markdown()
    yield f"```sh\n{_command(one)}\n```"


def _criteria(one: Tested) -> str:
    seeds = one.account["seeds"]
    header = ["criterion", "rule", f"found, {seeds} seeds", "p", "power", "verdict", "again"]
    return markdown_table(header, [[cell(text) for text in _criterion(row)] for row in one.criteria], left=7)


def _criterion(row: dict[str, Any]) -> list[str]:
    finding, again = row["finding"], row["again"]
    once_more = f"{found(again)} {_marked(again['verdict'])}" if again else "–"
    said = [literal(row["says"]), literal(row["rule"]), found(finding), number(finding["p"]), power(finding)]
    return [*said, _marked(finding["verdict"]), once_more]


def _marked(verdict: str) -> str:
    return f"{MARKS[verdict]} {verdict}" if verdict in MARKS else verdict or "–"


def _command(one: Tested) -> str:
    return f"ebmbench claims run {one.name}"

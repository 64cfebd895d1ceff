"""The text of `claims.md`: all verdicts in one table, how they are reached, then each claim with numbers and figure."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ebmbench.report.claims.collect import ClaimResult, criterion_verdict
from ebmbench.report.results.cells import OTHERWISE
from ebmbench.report.sections.provenance import render_provenance
from ebmbench.report.text.escaping import escape_text
from ebmbench.report.text.images import Image
from ebmbench.report.text.numbers import MISSING, plural
from ebmbench.report.text.tables import markdown_table

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


def render_claims(claims: list[ClaimResult], images: dict[str, Image], facts: dict[str, str]) -> str:
    """The whole page."""
    parts = [f"# ebmbench: claims of the literature\n\n{_summary(claims)}", *_published_numbers(claims)]
    parts += [f"## Verdicts\n\n{_verdict_table(claims)}", f"## How they are reached\n\n{ABOUT}", "## The claims"]
    parts += ["\n\n".join(_claim_section(claim, images.get(claim.name))) for claim in claims]
    parts += [f"## Provenance\n\n{render_provenance(facts)}"]
    return "\n\n".join(parts) + "\n"


def format_significant(value: float | None) -> str:
    """A number with three significant digits: 0.0312, 4.1e-07, 1590."""
    if value is None:
        return MISSING
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        digits = f"{value:.3g}"
        return digits if "e" not in digits else f"{value:.0f}"
    return f"{value:.1e}"


def _summary(claims: list[ClaimResult]) -> str:
    """How many claims have which verdict, and whether the two sets of seeds agree."""
    counts = Counter(claim.verdict for claim in claims)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    repeated = [claim for claim in claims if claim.again]
    same = sum(claim.again == claim.first for claim in repeated)
    both = f" Two disjoint sets of seeds agree on {same} of {len(repeated)}." if repeated else ""
    stale = f" What is stale was {OTHERWISE}, so it decides nothing; `ebmbench run` makes it anew."
    return f"{plural(len(claims), 'claim')}: {verdicts}.{both}{stale if counts['stale'] else ''}"


def _published_numbers(claims: list[ClaimResult]) -> list[str]:
    """Numbers that sources print, beside those found here at each seed; nothing if no claim is about one."""
    rows = [
        [
            escape_text(one["says"]),
            escape_text(claim.source),
            f"{one['published']:.5g}",
            escape_text(one["rule"].partition(" (")[0]),
            ", ".join(f"{value:.5g}" for value in one["finding"]["values"] if value is not None) or MISSING,
            _mark(criterion_verdict(one)),
        ]
        for claim in claims
        for one in claim.criteria
        if one.get("published") is not None
    ]
    if not rows:
        return []
    header = ["number", "source", "published", "rule, set before the run", "here, each seed", "verdict"]
    return [f"## Published numbers\n\n{markdown_table(header, rows, left=6)}"]


def _verdict_table(claims: list[ClaimResult]) -> str:
    header = ["claim", "source", "verdict", "what decided it", "found"]
    return markdown_table(header, [_verdict_row(claim) for claim in claims], left=5)


def _verdict_row(claim: ClaimResult) -> list[str]:
    """A claim with its verdict (and those of both sets of seeds, if they differ) and the criterion that decided it."""
    link = f"[{escape_text(claim.title)}](#{claim.name})"
    decided_by, numbers = escape_text(claim.reason) or MISSING, MISSING
    if claim.deciding is not None:
        others = sum(criterion_verdict(one) == claim.verdict for one in claim.criteria) - 1
        more = f"; and {others} more" if others else ""
        rule = escape_text(claim.deciding["rule"].partition(" (")[0])
        decided_by = f"{escape_text(claim.deciding['says'])}: {rule}{more}"
        again = claim.deciding["again"]
        numbers = _mean_and_limits(claim.deciding["finding"]) + (f"; again {_mean_and_limits(again)}" if again else "")
    differ = f" ({claim.first}, then {claim.again})" if claim.again not in ("", claim.first) else ""
    return [link, escape_text(claim.source), _mark(claim.verdict) + differ, decided_by, numbers]


def _claim_section(claim: ClaimResult, image: Image | None) -> Iterator[str]:
    """The paragraphs about a claim: what the source says, what is done here, what was found."""
    yield f"### `{claim.name}`"
    if not claim.record:
        yield f"**{_mark(claim.verdict)}**{f': {escape_text(claim.reason)}' if claim.reason else ''}."
        return
    yield f"**{escape_text(claim.title)}**"
    yield f"{escape_text(claim.record['sentence'])} *Source*: {escape_text(claim.source)}."
    yield f"*Here*: {escape_text(claim.record['here'])}"
    if claim.record.get("pilots"):
        yield f"*Pilots*: {escape_text(claim.record['pilots'])}"
    both = f": by the first seeds {claim.first}, by others {claim.again}" if claim.again else ""
    yield f"**{_mark(claim.verdict)}**{both}."
    header = ["criterion", "rule", f"found, {claim.record['seeds']} seeds", "p", "power", "verdict", "again"]
    yield markdown_table(header, [_criterion_row(one) for one in claim.criteria], left=7)
    if image is not None:
        yield image.markdown()
    yield f"```sh\nebmbench claims run {claim.name}\n```"


def _criterion_row(criterion: dict[str, Any]) -> list[str]:
    finding, again = criterion["finding"], criterion["again"]
    power = MISSING if finding["power"] is None else f"{100 * finding['power']:.0f} %"
    return [
        escape_text(criterion["says"]),
        escape_text(criterion["rule"]),
        _mean_and_limits(finding),
        format_significant(finding["p"]),
        power,
        _mark(finding["verdict"]),
        f"{_mean_and_limits(again)} {_mark(again['verdict'])}" if again else MISSING,
    ]


def _mean_and_limits(finding: dict[str, Any]) -> str:
    """Mean and limits of a finding, or its note if it has no mean."""
    if finding["mean"] is None:
        return finding["note"] or MISSING
    mean, low, high = (format_significant(finding[key]) for key in ("mean", "low", "high"))
    return f"{mean} ({low} … {high})"


def _mark(verdict: str) -> str:
    return f"{MARKS[verdict]} {verdict}" if verdict in MARKS else verdict or MISSING

"""The text of `claims.md`: how many claims hold, each in one line, then each with its numbers and figure."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ebmbench.report.claims.collect import ClaimResult, criterion_verdict
from ebmbench.report.results.cells import OTHERWISE
from ebmbench.report.sections.provenance import render_provenance
from ebmbench.report.text.escaping import escape_text
from ebmbench.report.text.images import Image
from ebmbench.report.text.links import link_papers
from ebmbench.report.text.numbers import MISSING, plural
from ebmbench.report.text.tables import markdown_table

MARKS = {"reproduced": "✓", "not reproduced": "✗", "undecided": "?"}
ABOUT = (
    "Each claim is an experiment whose rule was fixed before its seeds were looked at: a statistic, and a bound that "
    "it must pass by Student's one-sided test over the seeds (α = 0.01), or at every seed where the claim is "
    "mathematics. **Reproduced**: every criterion is met. **Not reproduced**: one is significantly on the wrong side."
    " **Undecided**: neither; the power is the chance that these seeds had to show an effect of the source's size. "
    "{twice}In brackets: the limits of the test. Means of ratios are geometric. A refuted claim is refuted *here*, at"
    " the size and on the data that its section names ([more](../../../docs/claims.md)). `ebmbench claims run NAME` "
    "tests one again."
)


TWICE = "Each claim is decided twice, by disjoint seeds; where the two disagree it is undecided. "


def render_claims(claims: list[ClaimResult], images: dict[str, Image], facts: dict[str, str], header: str) -> str:
    """The whole page."""
    parts = [f"# ebmbench: claims of the literature\n\n{header}\n\n{_summary(claims)}", *_published_numbers(claims)]
    about = ABOUT.format(twice=TWICE if any(claim.again for claim in claims) else "")
    parts += [_verdict_table(claims), f"## How they are decided\n\n{about}", "## The claims"]
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


def format_statistic(value: float | None, logarithm: str | None) -> str:
    """A statistic with three digits; the logarithm of a ratio or number as that ratio or number."""
    return format_significant(math.exp(value) if logarithm and value is not None else value)


def _summary(claims: list[ClaimResult]) -> str:
    """How many claims have which verdict, and whether the two sets of seeds agree."""
    counts = Counter(claim.verdict for claim in claims)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _order(counts))
    repeated = [claim for claim in claims if claim.again]
    same = sum(claim.again == claim.first for claim in repeated)
    both = f" Two disjoint sets of seeds agree on {same} of {len(repeated)}." if repeated else ""
    stale = f" What is stale was {OTHERWISE}, so it decides nothing; `ebmbench run` makes it anew."
    return f"**{plural(len(claims), 'claim')}: {verdicts}.**{both}{stale if counts['stale'] else ''}"


def _order(verdicts: Counter[str]) -> list[str]:
    """What was decided first."""
    return [*(one for one in MARKS if one in verdicts), *(one for one in verdicts if one not in MARKS)]


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
    order = _order(Counter(claim.verdict for claim in claims))
    rows = [_verdict_row(claim) for claim in sorted(claims, key=lambda claim: order.index(claim.verdict))]
    return markdown_table(["verdict", "claim", "what decided it", "source"], rows, left=4)


def _verdict_row(claim: ClaimResult) -> list[str]:
    """A claim with its verdict and the criterion that decided it: what was asked, and what was found."""
    link = f"[{escape_text(claim.title)}](#{claim.name})"
    decided_by = escape_text(claim.reason) or MISSING
    if claim.deciding is not None:
        one = claim.deciding
        means = [_mean(found, one) for found in (one["finding"], one["again"]) if found]
        asked, found = escape_text(_bound(one)), " and ".join(dict.fromkeys(means))
        decided_by = f"{escape_text(one['says'])}: {found}; asked: {asked}"
    return [_mark(claim.verdict), link, decided_by, link_papers(claim.source, claim.links)]


def _claim_section(claim: ClaimResult, image: Image | None) -> Iterator[str]:
    """The paragraphs about a claim: what the source says, what was found, what is done here."""
    yield f"### `{claim.name}`"
    if not claim.record:
        yield f"**{_mark(claim.verdict)}**{f': {escape_text(claim.reason)}' if claim.reason else ''}."
        return
    differ = f" ({claim.first} by the first seeds, {claim.again} by the others)" if claim.again != claim.first else ""
    yield f"**{_mark(claim.verdict)}**{differ if claim.again else ''}: {escape_text(claim.title)}."
    yield f"{escape_text(claim.record['sentence'])} *Source*: {link_papers(claim.source, claim.links)}."
    header = ["criterion", "asked", f"found, {claim.record['seeds']} seeds", "again", "p", "power"]
    yield markdown_table(header, [_criterion_row(one) for one in claim.criteria], left=6)
    if image is not None:
        yield image.markdown()
    yield f"*Here*: {escape_text(claim.record['here'])}"
    if claim.record.get("pilots"):
        yield f"*Pilots*: {escape_text(claim.record['pilots'])}"


def _criterion_row(criterion: dict[str, Any]) -> list[str]:
    finding, again = criterion["finding"], criterion["again"]
    power = MISSING if finding["power"] is None else f"{100 * finding['power']:.0f} %"
    return [
        escape_text(criterion["says"]),
        escape_text(_bound(criterion)),
        _judged(finding, criterion),
        _judged(again, criterion) if again else MISSING,
        format_significant(finding["p"]),
        power,
    ]


def _bound(criterion: dict[str, Any]) -> str:
    """The rule without the test, which is the same for all but exact criteria."""
    return str(criterion["rule"]).partition(" (")[0] + (" at every seed" if criterion["exact"] else "")


def _judged(finding: dict[str, Any], criterion: dict[str, Any]) -> str:
    """The verdict's mark, the mean and its limits; without a mean, the note that says why."""
    mark = MARKS.get(finding["verdict"], finding["verdict"])
    if finding["mean"] is None:
        return f"{mark} {finding['note'] or MISSING}"
    low, high = (format_statistic(finding[key], criterion.get("logarithm")) for key in ("low", "high"))
    return f"{mark} {_mean(finding, criterion)} ({low} … {high})"


def _mean(finding: dict[str, Any], criterion: dict[str, Any]) -> str:
    return str(finding["note"] or format_statistic(finding["mean"], criterion.get("logarithm")))


def _mark(verdict: str) -> str:
    return f"{MARKS[verdict]} {verdict}" if verdict in MARKS else verdict or MISSING

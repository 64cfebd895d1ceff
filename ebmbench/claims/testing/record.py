"""The record of a claim that was tested: what is claimed, how it was decided, and on which numbers.

Its files are `verdict.json`, its numbers alone in `metrics.json`, `values.csv` with a row for each seed and criterion,
and `figure.png`, drawn from the first set of seeds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, ClaimFile, open_claim
from ebmbench.claims.testing.criterion import Criterion, Finding, Verdict, combine_sets
from ebmbench.claims.testing.measure import Decision, decide, measure_claim
from ebmbench.config.registry import describe
from ebmbench.errors import UserError
from ebmbench.report.figures.theme import apply_theme, save
from ebmbench.workspace.files import write_csv, write_json
from ebmbench.workspace.layout import PARAMS_YAML

WIDTH, HEIGHT = 10.0, 3.4  # inches of a figure; its claim may choose another height


@dataclass(frozen=True)
class Record:
    """A claim, decided by the seeds from `first` on, and once more by those from `again` on if it is given."""

    name: str
    first: int
    measures: Sequence[Arms]
    decision: Decision
    again: int | None
    repeated: Decision | None

    @property
    def file(self) -> ClaimFile:
        """The claim's own file."""
        return open_claim(self.name)

    @property
    def verdict(self) -> Verdict:
        """The verdict of both sets of seeds: undecided unless they agree."""
        return combine_sets(self.decision.verdict, self.repeated.verdict if self.repeated else None)

    @property
    def summary(self) -> str:
        """The verdict in one line."""
        both = f" ({self.decision.verdict}; again: {self.repeated.verdict})" if self.repeated else ""
        return f"{self.name}: {self.verdict}{both}"

    def save(self, folder: Path) -> None:
        """Write all files."""
        write_json(folder / "verdict.json", self.as_dict())
        write_json(folder / "metrics.json", self.metrics())
        columns, *rows = self._rows()
        write_csv(folder / "values.csv", columns, rows)
        self.draw(folder / "figure.png")

    def draw(self, file: Path) -> Path:
        """Draw the claim's figure into a file."""
        with apply_theme():
            figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
            self.file.draw(figure, self.measures)
            return save(figure, file)

    def metrics(self) -> dict[str, Any]:
        """The verdicts, and the mean of each statistic."""
        keys = [criterion.key for criterion in self.file.CLAIM.criteria]
        means = {key: found.mean for key, found in zip(keys, self.decision.findings, strict=True)}
        again = self.repeated.verdict if self.repeated else None
        return {"verdict": self.verdict, "first": self.decision.verdict, "again": again, **means}

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        claim, entry = self.file.CLAIM, describe("claims", self.name)
        again = self.repeated.verdict if self.repeated else None
        return {
            "name": self.name,
            "title": entry.title,
            "source": entry.paper,
            "year": entry.year,
            "links": [*entry.links],
            "sentence": claim.sentence,
            "here": claim.here,
            "pilots": claim.pilots,
            "caption": claim.caption,
            "arms": [*claim.arms],
            "seeds": claim.seeds,
            "first": self.first,
            "again": self.again,
            "verdict": self.verdict,
            "verdict_first": self.decision.verdict,
            "verdict_again": again,
            "criteria": [*self._criteria()],
        }

    def _criteria(self) -> Iterator[dict[str, Any]]:
        for i, criterion in enumerate(self.file.CLAIM.criteria):
            once_more = self.repeated.findings[i].as_dict() if self.repeated else None
            rule = {key: getattr(criterion, key) for key in ("key", "says", "rule", "exact", "logarithm", "published")}
            yield {**rule, "finding": self.decision.findings[i].as_dict(), "again": once_more}

    def _rows(self) -> Iterator[list[Any]]:
        yield ["claim", "set", "seed", "statistic", "value"]
        for name, start, decision in [("first", self.first, self.decision), ("again", self.again, self.repeated)]:
            if decision is None or start is None:
                continue
            for criterion, finding in zip(self.file.CLAIM.criteria, decision.findings, strict=True):
                for offset, value in enumerate(finding.values):
                    yield [self.name, name, start + offset, criterion.key, "" if value is None else repr(value)]


def run_claim(name: str, first: int, again: int | None, bench: Bench) -> Record:
    """Measure and decide a claim with the seeds from `first` on, and from `again` on."""
    claim = open_claim(name).CLAIM
    count, first = claim.seeds, first + claim.offset
    if again is not None and abs(again + claim.offset - first) < count:
        found = f"found {again} beside first {first - claim.offset}"
        raise UserError(
            f"{PARAMS_YAML}: claims.again: {found}, allowed: {count} seeds away or more, so that no seed is in both"
        )
    measures = measure_claim(name, range(first, first + count), bench)
    repeated = None
    if again is not None:
        again += claim.offset
        repeated = decide(name, measure_claim(name, range(again, again + count), bench))
    return Record(name, first, measures, decide(name, measures), again, repeated)


def render_record(record: Record) -> str:
    """Text for a terminal: the claim, each criterion with its rule and numbers, and the verdict."""
    return "\n".join(_lines(record))


def _lines(record: Record) -> Iterator[str]:
    claim, entry = record.file.CLAIM, describe("claims", record.name)
    yield f"{record.name}: {entry.title} ({', '.join([entry.paper, *entry.links])})"
    for criterion, finding in zip(claim.criteria, record.decision.findings, strict=True):
        yield f"  {criterion.says}"
        published = "" if criterion.published is None else f"; published: {criterion.published:g}"
        yield f"    rule    {criterion.rule}{published}"
        yield f"    found   {_numbers(criterion, finding)}"
        yield f"    →       {finding.verdict}{f' ({finding.note})' if finding.note else ''}"
    seeds = f"seeds {record.first} … {record.first + claim.seeds - 1}"
    yield f"  verdict: {record.decision.verdict} ({seeds})"


def _numbers(criterion: Criterion, finding: Finding) -> str:
    if finding.mean is None:
        return "no number"
    kind = "between" if criterion.exact else f"{100 * (1 - 2 * criterion.alpha):g} % limits"
    expected = criterion.scale(criterion.expected or 0)
    power = "" if finding.power is None else f", power {finding.power:.2f} at {expected:.3g}"
    mean, low, high = (
        f"{criterion.scale(value):.4g}" for value in (finding.mean, finding.low, finding.high) if value is not None
    )
    return f"{mean} ({kind} {low} … {high}), {len(finding.values)} seeds{power}"

"""The account of a claim: what is claimed, how it was decided, and what it rests on, as plain files.

`verdict.json`, and its numbers alone in `metrics.json`; `values.csv` with a row per seed and criterion; `figure.png`,
drawn from the seeds that decide.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ebmbench.core.errors import UserError
from ebmbench.core.files import replacing, write_json
from ebmbench.core.params import FILE
from ebmbench.core.registry import describe
from ebmbench.evidence.bench import Bench
from ebmbench.evidence.claim import Arms, ClaimFile, open_claim
from ebmbench.evidence.criterion import Verdict, agreed
from ebmbench.evidence.deciding import Decision, decide
from ebmbench.evidence.measuring import measured
from ebmbench.report.theme import WIDTH, save, themed

HEIGHT = 3.4  # inches of a figure, unless its claim says otherwise


@dataclass(frozen=True)
class Account:
    """A claim, decided by the seeds from `first` on, and if `again` is given by those from there on too."""

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
        """What both sets of seeds say, if they agree."""
        return agreed(self.decision.verdict, self.repeated.verdict if self.repeated else None)

    @property
    def line(self) -> str:
        """The verdict in a line."""
        both = f" ({self.decision.verdict}; again: {self.repeated.verdict})" if self.repeated else ""
        return f"{self.name}: {self.verdict}{both}"

    def save(self, folder: Path) -> None:
        """Write all files."""
        write_json(folder / "verdict.json", self.as_dict())
        write_json(folder / "metrics.json", self.metrics())
        with replacing(folder / "values.csv") as path, path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(self._rows())
        self.draw(folder / "figure.png")

    def draw(self, file: Path) -> Path:
        """The figure."""
        with themed():
            figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
            self.file.draw(figure, self.measures)
            return save(figure, file)

    def metrics(self) -> dict[str, Any]:
        """What `dvc metrics show` shows of a claim: the verdicts, and the mean of each statistic."""
        keys = [criterion.key for criterion in self.file.CLAIM.criteria]
        means = {key: found.mean for key, found in zip(keys, self.decision.findings, strict=True)}
        again = self.repeated.verdict if self.repeated else None
        return {"verdict": self.verdict, "first": self.decision.verdict, "again": again, **means}

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        claim, entry = self.file.CLAIM, describe("claims", self.name)
        told = {"name": self.name, "title": entry.title, "source": entry.paper, "year": entry.year}
        told |= {
            "sentence": claim.sentence,
            "here": claim.here,
            "pilots": claim.pilots,
            "caption": claim.caption,
            "arms": [*claim.arms],
        }
        told |= {"seeds": claim.seeds, "first": self.first, "again": self.again, "verdict": self.verdict}
        told |= {"verdict_first": self.decision.verdict}
        told |= {"verdict_again": self.repeated.verdict if self.repeated else None}
        return {**told, "criteria": [*self._criteria()]}

    def _criteria(self) -> Iterator[dict[str, Any]]:
        for i, criterion in enumerate(self.file.CLAIM.criteria):
            once_more = self.repeated.findings[i].as_dict() if self.repeated else None
            said = {"key": criterion.key, "says": criterion.says, "rule": criterion.rule, "exact": criterion.exact}
            yield {**said, "finding": self.decision.findings[i].as_dict(), "again": once_more}

    def _rows(self) -> Iterator[list[Any]]:
        yield ["claim", "set", "seed", "statistic", "value"]
        for name, start, decision in [("first", self.first, self.decision), ("again", self.again, self.repeated)]:
            if decision is None or start is None:
                continue
            for criterion, finding in zip(self.file.CLAIM.criteria, decision.findings, strict=True):
                for offset, value in enumerate(finding.values):
                    yield [self.name, name, start + offset, criterion.key, "" if value is None else repr(value)]


def put_to_test(name: str, first: int, again: int | None, bench: Bench) -> Account:
    """Measure and decide a claim."""
    claim = open_claim(name).CLAIM
    count, first = claim.seeds, first + claim.offset
    if again is not None and abs(again + claim.offset - first) < count:
        found = f"found {again} beside first {first - claim.offset}"
        raise UserError(
            f"{FILE}: claims.again: {found}, allowed: {count} seeds away or more, so that no seed is in both"
        )
    measures = measured(name, range(first, first + count), bench)
    repeated = None
    if again is not None:
        again += claim.offset
        repeated = decide(name, measured(name, range(again, again + count), bench))
    return Account(name, first, measures, decide(name, measures), again, repeated)

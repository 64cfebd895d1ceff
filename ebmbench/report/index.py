"""`reports/README.md`: the leaderboard of all suites, and where every report is.

Everything on the page is computed from the reports that are there (`ebmbench report index`), so a test can tell whether
the committed page is up to date. A dataset that several suites have is shown by the report that one should quote: that
of the largest budget, then of the most seeds, then of the most methods. Budgets that agree to two digits are equal, for
a run ends with the step that reaches its budget. Releases that have left the tree are listed in `reports/releases.csv`
with the commit that added them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from ebmbench.config import registry
from ebmbench.config.schema import read_yaml
from ebmbench.report.catalogue import GONE, RELEASES, describe_version, list_former_releases, list_reports
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import RATIO, direction, drop_silent_baselines, heading, variants
from ebmbench.report.results.kinds import select_kind
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results, read_rows
from ebmbench.report.results.verdicts import VERDICTS, lost_cell, rows_of_methods
from ebmbench.report.statistics.frontiers import drop_frontiers, find_frontiers
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.text.numbers import MISSING, format_count, format_number, plural
from ebmbench.report.text.tables import find_best, format_name, format_share, markdown_table
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import LATEST, PAGES, PARAMS_YAML, REPORTS

ABOUT = (
    "The median over the seeds for each method and dataset, with a link to its report. **Bold**: these seeds cannot "
    "tell the method from the best. Italics: references, which do not compete. {marks}. Compare inside a column only."
)
# By the verdict on the density for numbers that need the energy, on the sampler for numbers of samples.
MARKS = {
    "✓": ("all runs are healthy", ("ok",)),
    "◐": ("chains of some runs do not mix, or long runs collapse", ("sampler limit", "unmixed", "short-run-only")),
    "✗": ("some runs are miscalibrated or diverged", ("miscalibrated", "diverged")),
    "no mark": ("not judged", ()),
}
OTHERS = {"speed": "speed/speed.md", "search for default settings": "tuning/report.md"}
KINDS = ("short", "long")  # of the samples of images


@dataclass(frozen=True)
class Report:
    """The latest report of a suite with numbers."""

    root: Path
    folder: Path

    @property
    def suite(self) -> str:
        """The suite's name."""
        return self.folder.parent.name

    @property
    def link(self) -> str:
        """The way from the page to the report."""
        return f"{self.suite}/{self.folder.name}/report.md"

    @cached_property
    def results(self) -> Results:
        """Its numbers; old reports do not say with which parameters they were made."""
        params = self.folder / PARAMS_YAML
        frame = drop_silent_baselines(load_results(self.folder))
        return Results(frame, read_yaml(params) if params.is_file() else {})

    @property
    def source(self) -> str:
        """The suite and the version of the program that made the report."""
        return f"[{self.suite}]({self.link}) {describe_version(self.root, self.folder / 'report.md')}"

    def weigh(self, dataset: str) -> tuple[float, int, int]:
        """Passes, seeds and methods on a dataset: the larger, the rather this is the report to quote."""
        rows = rows_of_methods(self.results.frame[self.results.frame["dataset"] == dataset])
        passes = rows.loc[rows["metric"] == "passes", "value"].max()
        return (float(f"{passes:.1e}") if pd.notna(passes) else 0.0), rows["seed"].nunique(), rows["method"].nunique()


@dataclass(frozen=True)
class Column:
    """One column of the leaderboard."""

    report: Report
    dataset: str
    metric: str
    kind: str = ""

    @property
    def title(self) -> str:
        """The dataset, with the kind of samples if there are several."""
        return f"[`{self.dataset}`{f', {self.kind}' if self.kind else ''}]({self.report.link})"

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows of this kind of samples."""
        frame = self.report.results.frame
        return select_kind(frame, self.dataset, self.kind) if self.kind else self.report.results.toys

    @cached_property
    def rows(self) -> dict[str, pd.DataFrame]:
        """The rows of each method."""
        return variants(self.frame, self.dataset)

    @cached_property
    def best(self) -> set[str]:
        """Who is bold."""
        return find_best(self.frame, self.dataset, self.metric)

    def cell(self, name: str) -> str:
        """The median with a link and the mark of its verdict."""
        if name not in self.rows:
            return MISSING
        one, lost = summarise(self.rows[name], self.metric), lost_cell(self.rows[name])
        if lost or one.median is None:
            return f"{MISSING} ({lost})" if lost else MISSING
        number = format_number(one.median) + format_share(one)
        link = f"[{f'**{number}**' if name in self.best else number}]({self.report.link})"
        return link if is_baseline(name) else f"{link} {self.mark(self.rows[name])}".rstrip()

    def mark(self, rows: pd.DataFrame) -> str:
        """The mark of the worst verdict of the runs; empty if a report has none."""
        runs = rows.drop_duplicates("label")
        known = registry.entries("metrics").get(self.metric)
        side = runs["sampler_verdict" if known and known.samples else "density_verdict"]
        words = set(side.where(side != "", runs["verdict"]))
        worst = next((word for word in reversed(VERDICTS) if word in words), "")
        return next((mark for mark, (_, verdicts) in MARKS.items() if worst in verdicts), "")


def write_index(root: Path) -> Path:
    """Write the page."""
    index = root / REPORTS / "README.md"
    write_text(index, render_index(root))
    return index


def render_index(root: Path) -> str:
    """The whole page."""
    folder = root / REPORTS
    reports = [Report(root, file.parent) for file in sorted(folder.glob(f"*/{LATEST}/results.csv"))]
    chosen = choose_reports(reports)
    marks = ", ".join(f"{mark}: {meaning}" for mark, (meaning, _) in MARKS.items())
    parts = ["# Reports"]
    if chosen:
        parts += [ABOUT.format(marks=marks), *_leaderboards(chosen)]
    parts += map(_describe_claims, sorted(folder.glob(f"*/{LATEST}/verdicts.csv")))
    if chosen:
        parts += ["## Where the numbers come from", _sources(chosen, reports)]
    parts += ["## All reports", list_reports(root), _notes(folder)]
    if (folder / RELEASES).is_file():
        parts += ["## Earlier releases", GONE, list_former_releases(folder / RELEASES)]
    return "\n\n".join(filter(None, parts)) + "\n"


def choose_reports(reports: Iterable[Report]) -> dict[str, Report]:
    """The report to quote for each dataset; one at several budgets is no column of a leaderboard."""
    found: dict[str, Report] = {}
    for report in reports:
        for dataset in drop_frontiers(report.results, find_frontiers(report.results)).datasets:
            if dataset not in found or report.weigh(dataset) > found[dataset].weigh(dataset):
                found[dataset] = report
    return found


def _leaderboards(chosen: dict[str, Report]) -> list[str]:
    """A table for each main metric."""
    columns: dict[str, list[Column]] = {}
    for dataset, report in chosen.items():
        images = dataset in report.results.image_datasets
        metric = report.results.main_metric_of(dataset)
        columns.setdefault(metric, []).extend(
            Column(report, dataset, metric, kind) for kind in (KINDS if images else ("",))
        )
    return [_leaderboard(metric, columns[metric]) for metric in sorted(columns, key=lambda metric: metric == RATIO)]


def _leaderboard(metric: str, columns: list[Column]) -> str:
    """Methods in rows, in the order of their suites, references first."""
    found = dict.fromkeys(name for column in columns for name in column.rows)
    methods = list(dict.fromkeys(name.split(" ")[0] for name in found))
    names = sorted(found, key=lambda name: (not is_baseline(name), methods.index(name.split(" ")[0])))
    rows = [[format_name(name), *(column.cell(name) for column in columns)] for name in names]
    rows += [["report", *(column.report.source for column in columns)]]
    corner = f"median {heading(metric, direction(columns[0].frame, metric))}"
    return markdown_table([corner, *(column.title for column in columns)], rows)


def _sources(chosen: dict[str, Report], reports: list[Report]) -> str:
    """The report of each dataset with its budget and seeds, and the others that have the dataset."""
    rows = []
    for dataset, report in chosen.items():
        passes, seeds, _ = report.weigh(dataset)
        others = [f"[{one.suite}]({one.link})" for one in reports if dataset in one.results.datasets and one != report]
        size = f"{format_count(passes)} passes, {plural(seeds, 'seed')}"
        rows.append([f"`{dataset}`", report.source, size, ", ".join(others) or MISSING])
    return markdown_table(["dataset", "report", "budget", "also in"], rows, left=4)


def _describe_claims(verdicts: Path) -> str:
    """How many claims of papers came out how."""
    counts = Counter({row["claim"]: row["verdict"] for row in read_rows(verdicts)}.values())
    link = "/".join([*verdicts.parts[-3:-1], PAGES[1]])
    found = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    return f"**[Claims of papers]({link})**: of {counts.total()}, {found}."


def _notes(folder: Path) -> str:
    others = [f"[{name}]({path})" for name, path in OTHERS.items() if (folder / path).is_file()]
    beside = f" Beside them: {', '.join(others)}." if others else ""
    return (
        "`ebmbench report page reports/SUITE/latest` writes a report as one page for the browser. `ebmbench report "
        f"index` writes this page.{beside}"
    )

"""All searches: progress while they run, the table and the report as each is finished, the winners at the end."""

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from tqdm import tqdm

from ebmbench.core.errors import UserError
from ebmbench.core.files import write_text
from ebmbench.core.params import Params
from ebmbench.tuning.grid import base_section, changed
from ebmbench.tuning.parallel import Event, searches
from ebmbench.tuning.report import report
from ebmbench.tuning.search import steps
from ebmbench.tuning.space import DEFAULTS, Plan
from ebmbench.tuning.table import FOLDER, Row, merged, of_method, read_table, settings_values, winner, write_table


@dataclass(frozen=True)
class Result:
    """What to say at the end."""

    snippet: str
    report: str
    failures: list[str]


def tune(plan: Plan, methods: list[str], jobs: int) -> Result:
    """Search for the defaults of these methods; rows of the others stay as they are."""
    failures: dict[str, str] = {}
    with _alone(plan.root), _Progress(sum(steps(plan, method) for method in methods)) as progress:
        for event in searches(plan, methods, jobs):
            progress.show(event)
            if event.failure:
                failures[event.method] = event.failure
            elif event.row is None:
                publish(plan, event.rows)
    rows = read_table(plan.root / FOLDER / "trials.csv")
    found = [method for method in methods if method not in failures]
    return Result(snippet(plan, rows, found), f"{FOLDER}/report.md", list(failures.values()))


def publish(plan: Plan, new: list[Row]) -> None:
    """Put new rows into the table, and write the report of all."""
    table = plan.root / FOLDER / "trials.csv"
    rows = merged(read_table(table), new, list(plan.space.methods))
    write_table(table, rows)
    write_text(table.with_name("report.md"), report(plan, rows))


def snippet(plan: Plan, rows: list[Row], methods: list[str]) -> str:
    """The winners as sections of `suites/defaults.yaml`, with a word on whether they stand there already."""
    text = StringIO()
    yaml = YAML()
    yaml.width = 130
    for method in methods:
        best = winner(of_method(rows, method))
        if best is None:
            text.write(f"# {method}: no winner\n")
            continue
        same = equals_defaults(plan.defaults, best)
        text.write(f"# {method}: {'as' if same else 'not as'} in {DEFAULTS}\n")
        yaml.dump({method: changed(base_section(method, plan.defaults), settings_values(best.settings))}, text)
    return text.getvalue()


def equals_defaults(defaults: Params, best: Row) -> bool:
    """Whether a winner's settings are those of the defaults."""
    section = base_section(best.method, defaults)
    return section == changed(section, settings_values(best.settings))


class _Progress:
    """A bar on a terminal, a line per finished trial elsewhere."""

    def __init__(self, total: int) -> None:
        self.bar = tqdm(total=total, unit=" trials", disable=None)

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def show(self, event: Event) -> None:
        """Count a row; say what failed."""
        if event.row is not None:
            row = event.row
            self.bar.update()
            self.bar.set_description(row.method)
            if self.bar.disable:
                value = f"{row.value:.4f}" if row.ended_well else row.status
                print(f"{row.method} round {row.round} trial {row.trial}: {value} ({row.settings})", flush=True)
        elif event.failure and self.bar.disable:
            print(f"failed: {event.failure}", file=sys.stderr, flush=True)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Two searches in one folder would train into the same places."""
    path = root / "work" / "locks" / "tune.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError("tune: another process is searching here; wait for it or stop it") from error
        yield

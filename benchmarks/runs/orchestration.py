"""What orchestration costs: one suite under `dvc repro`, under the flow, and on Dask workers.

Every measurement is a whole run in a fresh clone of the present commit: no data, no cache, no Prefect server. The modes
take turns, so that a machine that grows slow does so for all of them. Dask's scheduler and workers are started before
the clock is.
"""

import importlib.util
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.runs.clone import Clone, Rows, Usage, make_clone
from benchmarks.runs.workers import start_workers
from benchmarks.settings import Settings
from benchmarks.tables import NONE, Section, format_range, markdown_table, show_progress


@dataclass(frozen=True)
class Mode:
    """A module with its arguments that brings a workspace up to date, and how many stages it runs at a time."""

    module: str
    arguments: tuple[str, ...]
    jobs: int = 1
    workers: bool = False  # as many as jobs; the scheduler's address is added to the arguments


MODES = {
    "`dvc repro`": Mode("dvc", ("repro",)),
    "flow, 1 job": Mode("ebmbench", ("run", "--jobs", "1")),
    "flow, 2 jobs": Mode("ebmbench", ("run", "--jobs", "2"), jobs=2),
    "Dask, 2 workers": Mode("ebmbench", ("run", "--scheduler"), jobs=2, workers=True),
}


@dataclass(frozen=True)
class ModeRun:
    """One run of a mode. `clean`: DVC finds nothing stale afterwards."""

    usage: Usage
    stages: int
    overhead: float
    numbers: Rows
    clean: bool


def measure(settings: Settings) -> Iterator[Section]:
    """Run the tiny suite in all modes, several times."""
    dask = importlib.util.find_spec("distributed") is not None
    found: dict[str, list[ModeRun]] = {name: [] for name, mode in MODES.items() if dask or not mode.workers}
    for number in range(settings.runs):
        for name, runs in found.items():
            with tempfile.TemporaryDirectory(prefix="ebmbench-modes-", ignore_cleanup_errors=True) as folder:
                runs.append(run_mode(MODES[name], make_clone(Path(folder, "mode"), "HEAD", "tiny")))
            show_progress(f"round {number + 1}, {name}: {runs[-1].usage.wall:.1f} s")
    text = f"""A tiny suite in a fresh clone each time. Wall and core seconds, median of {settings.runs}
(smallest–largest). Overhead is (wall × jobs − recorded work) / stages: it has the report and slots that wait in it."""
    yield Section("Orchestration", f"{text}\n\n{render_modes(found)}")


def run_mode(mode: Mode, clone: Clone) -> ModeRun:
    """Run one mode in a clone."""
    stages = clone.count_stages()
    with start_workers(clone.root, clone.env, mode.jobs * mode.workers) as address:
        usage = clone.run(*mode.arguments, *address, module=mode.module)
    overhead = (usage.wall * mode.jobs - clone.read_work()) / stages
    clean = clone.read_output("dvc", "status", "--json") == "{}"
    return ModeRun(usage, stages, overhead, clone.read_numbers(), clean)


def render_modes(found: Mapping[str, Sequence[ModeRun]]) -> str:
    """A line for each mode. Core time of Dask's workers is not known: they are no children of the command."""
    first = next(iter(found.values()))[0].numbers
    lines = []
    for name, runs in found.items():
        core = NONE if MODES[name].workers else format_range([run.usage.cpu for run in runs])
        same = "yes" if all(run.numbers == first for run in runs) else "**no**"
        clean = "clean" if all(run.clean for run in runs) else "**stale**"
        wall = format_range([run.usage.wall for run in runs])
        overhead = format_range([run.overhead for run in runs])
        lines.append([name, str(runs[0].stages), wall, core, overhead, same, clean])
    head = ["", "stages", "wall", "core", "overhead", "same numbers", "`dvc status`"]
    return markdown_table(head, lines)

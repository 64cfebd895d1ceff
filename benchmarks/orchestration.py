"""What orchestration costs: the wall time of a suite under `dvc repro` and under the flow, and the overhead per stage.

    python -m benchmarks.orchestration --suite tiny --rounds 3 --output orchestration.md

Every measurement is a whole run in a fresh clone of the current commit: no data, no cache, no Prefect server. The modes
take turns, so that a machine that grows slow or warm does so for all of them. Dask's scheduler and workers, each in a
clone of its own beside a folder as DVC remote, are started before the clock is. Definitions:

- *wall*: from the command's start to its end, as a user waits for it. What the flow needs to plan, to import Prefect
  and to start its server is part of it, and also stands apart as
- *start-up*: until the first stage's own process starts.
- *in stages*: seconds of all stage processes (`python -m ebmbench.stages…`) together, each from its start to its end.
  Their imports are part of it: they are the stages' price, whoever starts them.
- *overhead per stage*: (wall × jobs − in stages) / stages. With several jobs a slot that stays empty, because what is
  left still waits for its upstreams, counts as overhead too.
- *after start-up*: the same without the start-up: ((wall − start-up) × jobs − in stages) / stages.
- *same numbers*: whether `results.csv` of every run has the rows of the first, without seconds and memory.

Linux only: processes are watched in /proc.
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.workers import start_workers

ROOT = Path(__file__).parents[1]
LOOK_SECONDS = 0.05
TINY = """\
benchmark: {suite: tiny, seeds: [0], datasets: [two_moons], methods: [nce, dsm]}
training: {budget: 20_000, rows: 10, snapshots: [0.5]}
sampling: {chains: 400, sampler: {steps: 3}}
metrics: {cells: 64, block: 200}
methods: {dsm: {sigma: 0.1}}
"""


@dataclass(frozen=True)
class Mode:
    """A module with its arguments that brings a workspace up to date, and how many stages it runs at a time."""

    command: tuple[str, ...]
    jobs: int = 1
    workers: bool = False  # as many as jobs; the scheduler's address is added to the command


# One more line is one more mode.
MODES = {
    "`dvc repro`": Mode(("dvc", "repro")),
    "flow, 1 job": Mode(("ebmbench", "run", "--jobs", "1")),
    "flow, 2 jobs": Mode(("ebmbench", "run", "--jobs", "2"), jobs=2),
    "Dask, 2 workers": Mode(("ebmbench", "run", "--scheduler"), jobs=2, workers=True),
}


@dataclass(frozen=True)
class Measured:
    """One run."""

    wall: float
    startup: float
    in_stages: float
    stages: int
    jobs: int
    numbers: frozenset[tuple[str, ...]]
    stale: str

    @property
    def overhead(self) -> float:
        """Overhead per stage."""
        return (self.wall * self.jobs - self.in_stages) / self.stages

    @property
    def running(self) -> float:
        """Overhead per stage, without the start-up."""
        return ((self.wall - self.startup) * self.jobs - self.in_stages) / self.stages


def fresh_clone(folder: Path, suite: str) -> tuple[Path, dict[str, str]]:
    """A clone of the current commit with the suite chosen, and an environment in which it stands alone."""
    root = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root)], check=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DVC_", "PREFECT_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"DVC_SITE_CACHE_DIR": str(folder / "dvc"), "PREFECT_HOME": str(folder / "prefect")}
    env = inherited | own | {"PATH": path, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    if suite == "tiny":
        (root / "suites" / "tiny.yaml").write_text(TINY, encoding="utf-8")
    use = [sys.executable, "-m", "ebmbench", "suite", "use", suite, "--force"]
    subprocess.run(use, cwd=root, env=env, check=True, capture_output=True)
    return root, env


def measure(mode: Mode, suite: str, root: Path, env: dict[str, str]) -> Measured:
    """Run a mode and watch its stages."""
    seen: dict[str, tuple[float, float]] = {}  # by command: a stage that forks is still one stage
    log = root.parent / "log"
    with start_workers(root, env, mode.jobs * mode.workers) as address, log.open("wb") as file:
        begin = time.time()
        process = subprocess.Popen(
            [sys.executable, "-m", *mode.command, *address], cwd=root, env=env, stdout=file, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            now = time.time()
            seen |= {stage: (seen.get(stage, (now,))[0], now) for stage in _stages_running(root.parent)}
            time.sleep(LOOK_SECONDS)
        wall = time.time() - begin
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(mode.command)} ended with {process.returncode}:\n{log.read_text()[-2000:]}")
    first = min(start for start, _ in seen.values())
    in_stages = sum(end - start + LOOK_SECONDS for start, end in seen.values())  # it is seen late and missed early
    status = [sys.executable, "-m", "dvc", "status", "--json"]
    stale = subprocess.run(status, cwd=root, env=env, capture_output=True, text=True).stdout.strip()
    return Measured(wall, first - begin, in_stages, len(seen), mode.jobs, _numbers(root, suite), stale)


def _numbers(root: Path, suite: str) -> frozenset[tuple[str, ...]]:
    """The rows of the report's results, without what a clock or the memory gave."""
    with (root / "reports" / suite / "latest" / "results.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    measured = [name for name in rows[0] if name.startswith("seconds") or name == "peak_memory_mb"]
    return frozenset(tuple(value for name, value in row.items() if name not in measured) for row in rows)


def _stages_running(folder: Path) -> set[str]:
    return {stage for entry in Path("/proc").glob("[0-9]*") if (stage := _stage(entry, folder))}


def _stage(entry: Path, folder: Path) -> str | None:
    """Where a stage runs, and its command. DVC starts a shell, which may stay: only the Python below it counts."""
    try:
        words = (entry / "cmdline").read_bytes().decode().split("\0")
        mine = len(words) > 2 and words[1] == "-m" and words[2].startswith("ebmbench.stages.")
        place = (entry / "cwd").readlink()
        return " ".join([str(place), *words[2:]]) if mine and place.is_relative_to(folder) else None
    except OSError:  # it ended while we looked
        return None


def table(found: dict[str, list[Measured]]) -> str:
    """Medians, with the smallest and the largest in brackets."""
    heads = ("mode", "stages", "wall, s", "start-up, s", "in stages, s", "overhead per stage, s", "after start-up, s")
    heads += ("same numbers", "`dvc status`")
    lines = [f"| {' | '.join(heads)} |", "| :--- |" + " ---: |" * 6 + " :--- | :--- |"]
    first = next(iter(found.values()))[0].numbers
    for name, runs in found.items():
        columns = [
            _spread([getattr(run, what) for run in runs])
            for what in ("wall", "startup", "in_stages", "overhead", "running")
        ]
        same = "yes" if all(run.numbers == first for run in runs) else "**no**"
        clean = "clean" if all(run.stale == "{}" for run in runs) else "**stale**"
        lines.append(f"| {name} | {runs[0].stages} | {' | '.join(columns)} | {same} | {clean} |")
    return "\n".join(lines)


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def main() -> int:
    """Measure, print the table, and write it if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=["tiny", "smoke", "quick"], default="tiny")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mode", action="append", choices=[*MODES], help="only this one; may be given again")
    parser.add_argument("--output", type=Path, help="write the table here too")
    options = parser.parse_args()
    found: dict[str, list[Measured]] = {name: [] for name in options.mode or MODES}
    for number in range(options.rounds):
        for name in found:
            with tempfile.TemporaryDirectory(prefix="orchestration-", ignore_cleanup_errors=True) as folder:
                found[name].append(
                    measure(MODES[name], options.suite, *fresh_clone(Path(folder).resolve(), options.suite))
                )
            print(f"round {number + 1}, {name}: {found[name][-1].wall:.1f} s", file=sys.stderr, flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    title = f"Suite `{options.suite}` at {commit.stdout.strip()}, {options.rounds} rounds, {os.cpu_count()} cores."
    text = f"{title} Medians (smallest–largest).\n\n{table(found)}\n"
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

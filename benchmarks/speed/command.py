"""`python -m benchmarks.speed`: measure the rows that are asked for, and write the tables."""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.speed import problems
from benchmarks.speed.contender import BARE, OURS, Contender, contenders
from benchmarks.speed.race import GOAL, render_races, run_races
from benchmarks.speed.rows import Row, job, rows
from benchmarks.speed.scaling import loads, render_scaling
from benchmarks.speed.table import Times, format_time, markdown_table, render_times
from benchmarks.speed.timing import spread, time_in_turns

ROOT = Path(__file__).parents[2]
PACKAGES = ("ebmbench", "torch", "torchebm", "ebmkit")
PROFILED_STEPS, WARM_STEPS, TOP_OPERATORS = 100, 20, 10
DESCRIPTION = """Measure ebmbench, the bare autograd loop, torchebm and ebmkit, interleaved, on one thread. Install the
other libraries with the extra `bench`, or run `make speed`; those that are not there are left out."""


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and write."""
    options = parser().parse_args(argv)
    torch.set_num_threads(1)
    parts = [f"# Speed\n\n{describe_machine(options.rounds)}", *sections(options)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=DESCRIPTION)
    made.add_argument("--rows", default="*", metavar="PATTERN", help="only rows whose name holds this; * is anything")
    made.add_argument("--rounds", type=int, default=15, help="measurements of each contender (15)")
    made.add_argument("--kl", action="store_true", help="also the time to KL ≤ 0.05, by method (takes long)")
    made.add_argument("--limit", type=float, default=60.0, help="seconds of training that --kl grants (60)")
    made.add_argument("--seeds", type=int, default=1, help="trainings of each kind for --kl (1)")
    made.add_argument("--scaling", action="store_true", help="also how cost per unit grows with load")
    made.add_argument("--profile", action="store_true", help="also where the time of a training step goes")
    made.add_argument("--only", action="store_true", help="leave the rows out: only what the flags above ask for")
    made.add_argument("--output", type=Path, default=ROOT / "reports" / "speed" / "speed.md", help="Markdown file")
    return made


def sections(options: argparse.Namespace) -> Iterator[str]:
    """The parts of the report."""
    entered = list(contenders())
    if not options.only:
        yield f"## Side by side\n\n{side_by_side(entered, options)}"
    if options.kl:
        yield f"## Time to KL ≤ {GOAL:g}\n\n{time_to_goal(entered, options)}"
    if options.scaling:
        yield f"## Scaling of {OURS}\n\n{scaling(entered[0], options.rounds)}"
    if options.profile:
        yield f"## Profile of a training step\n\n{profile_step(entered[0])}"


def side_by_side(entered: list[Contender], options: argparse.Namespace) -> str:
    """The table of all rows and contenders."""
    found = {(row.name, row.unit): measure(row, entered, options.rounds) for row in rows(options.rows)}
    return render_times(found, [one.name for one in entered])


def time_to_goal(entered: list[Contender], options: argparse.Namespace) -> str:
    """Libraries alone: the bare loop has no adjusted chains to train with."""
    found = {}
    for method, name, runs in run_races([one for one in entered if one.name != BARE], options.limit, options.seeds):
        found[method, name] = runs
        show_progress(f"{method}, {name}: {'; '.join(map(str, runs))}")
    return render_races(found)


def scaling(one: Contender, rounds: int) -> str:
    """A table for each quantity that grows."""
    tables = []
    for load in loads():
        tables.append(render_scaling(load, one, rounds))
        show_progress(f"scaling by {load.name}")
    return "\n\n".join(tables)


def measure(row: Row, entered: list[Contender], rounds: int) -> Times:
    """Seconds per unit of a row."""
    works = {one.name: work for one in entered if (work := row.ask(one)) is not None}
    times = time_in_turns(works, rounds)
    times = {name: [value / row.per for value in found] for name, found in times.items()}
    show_progress(f"{row.name}: " + ", ".join(f"{name} {format_time(spread(found))}" for name, found in times.items()))
    return times


def show_progress(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def profile_step(one: Contender, name: str = "mle") -> str:
    """Torch's operators that take most of a training step, with the step's time without the profiler."""
    learner = one.learner(job(name), problems.eight_gaussians()[1])
    assert learner is not None
    learner.advance(WARM_STEPS)
    start = time.perf_counter()
    learner.advance(PROFILED_STEPS)
    whole = (time.perf_counter() - start) / PROFILED_STEPS
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        learner.advance(PROFILED_STEPS)
    events = [event for event in profiler.key_averages() if event.device_type == DeviceType.CPU]
    events.sort(key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in events)
    lines = []
    for event in events[:TOP_OPERATORS]:
        own = event.self_cpu_time_total
        calls, milliseconds = event.count / PROFILED_STEPS, own / PROFILED_STEPS / 1e3
        lines.append([f"`{event.key}`", f"{calls:.1f}", f"{milliseconds:.3f}", f"{own / total:.0%}"])
    operators = f"under the profiler, operators take {total / PROFILED_STEPS / 1e3:.2f} ms"
    table = markdown_table(["operator", "calls a step", "own ms a step", "share of operators"], lines)
    return f"A step of {name} takes {1e3 * whole:.2f} ms; {operators}.\n\n{table}"


def describe_machine(rounds: int) -> str:
    """What the numbers were measured with, in one line: versions, processor, threads and commit, but no date."""
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    threads = f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)} of {os.cpu_count()} cores"
    describe = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    commit = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"
    python = f"Python {platform.python_version()}"
    return f"{versions}; {python}; {_processor()}, {threads}; commit {commit}; {rounds} rounds."


def _processor() -> str:
    """The processor's name, if the system knows it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"

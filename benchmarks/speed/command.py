"""The command: measure the rows that are asked for, and write the tables."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.speed.contender import BARE, OURS, Contender, contenders
from benchmarks.speed.interleave import interleaved
from benchmarks.speed.profiling import profiled
from benchmarks.speed.provenance import ROOT, provenance
from benchmarks.speed.reaching import GOAL, reached, reaching_table
from benchmarks.speed.rows import Row, rows
from benchmarks.speed.scaling import loads, scaled
from benchmarks.speed.spread import spread
from benchmarks.speed.table import Times, lasting, times_table

DESCRIPTION = """Measure ebmbench, the bare autograd loop, torchebm and ebmkit, interleaved, on one thread. Install the
other libraries with the extra `bench`, or run `make speed`; those that are not there are left out."""


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and write."""
    options = parser().parse_args(argv)
    torch.set_num_threads(1)
    parts = [f"# Speed\n\n{provenance(options.rounds)}", *sections(options)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
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
        yield f"## Profile of a training step\n\n{profiled(entered[0])}"


def side_by_side(entered: list[Contender], options: argparse.Namespace) -> str:
    """The rows."""
    found = {(row.name, row.unit): measured(row, entered, options.rounds) for row in rows(options.rows)}
    return times_table(found, [one.name for one in entered])


def time_to_goal(entered: list[Contender], options: argparse.Namespace) -> str:
    """Libraries alone: the bare loop has no adjusted chains to train with."""
    found = {}
    for method, name, runs in reached([one for one in entered if one.name != BARE], options.limit, options.seeds):
        found[method, name] = runs
        tell(f"{method}, {name}: {'; '.join(map(str, runs))}")
    return reaching_table(found)


def scaling(one: Contender, rounds: int) -> str:
    """A table for each load."""
    tables = []
    for load in loads():
        tables.append(scaled(load, one, rounds))
        tell(f"scaling by {load.name}")
    return "\n\n".join(tables)


def measured(row: Row, entered: list[Contender], rounds: int) -> Times:
    """Seconds per unit of a row."""
    works = {one.name: work for one in entered if (work := row.ask(one)) is not None}
    times = interleaved(works, rounds)
    times = {name: [value / row.per for value in found] for name, found in times.items()}
    tell(f"{row.name}: " + ", ".join(f"{name} {lasting(spread(found))}" for name, found in times.items()))
    return times


def tell(line: str) -> None:
    """Progress."""
    print(line, file=sys.stderr, flush=True)

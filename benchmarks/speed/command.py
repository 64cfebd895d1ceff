"""The command: measure the rows that are asked for, and write the tables."""

import argparse
import sys
from pathlib import Path

import torch

from benchmarks.speed.contender import Contender, contenders
from benchmarks.speed.interleave import interleaved
from benchmarks.speed.provenance import ROOT, provenance
from benchmarks.speed.rows import Row, rows
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
    made.add_argument("--output", type=Path, default=ROOT / "reports" / "speed" / "speed.md", help="Markdown file")
    return made


def sections(options: argparse.Namespace) -> list[str]:
    """The parts of the report."""
    entered = list(contenders())
    found = {(row.name, row.unit): measured(row, entered, options.rounds) for row in rows(options.rows)}
    table = times_table(found, [one.name for one in entered])
    return [f"## Side by side\n\n{table}"] if found else []


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

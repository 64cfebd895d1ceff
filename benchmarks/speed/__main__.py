"""The command `python -m benchmarks.speed`."""

import argparse
import dataclasses
import sys
from pathlib import Path

from benchmarks.settings import QUICK, Settings
from benchmarks.speed.page import PAGE, PARTS, measure_parts, render_page

DESCRIPTION = """\
Measure how fast ebmbench is, and write reports/speed/speed.md. This takes hours, on a machine that does nothing else.
A run of some parts, of some rows or with --quick prints its tables and leaves the page as it is. Other libraries that
are not installed are left out; `make speed` installs them into an environment of its own."""
EXAMPLES = """\
examples:
  python -m benchmarks.speed                          everything, and the page
  python -m benchmarks.speed steps --rows dsm         some rows of the tables side by side
  python -m benchmarks.speed suite --against HEAD~5   the default suite by this commit and an earlier one
  python -m benchmarks.speed --quick                  every part with tiny settings, to see that it works
"""


def main(argv: list[str] | None = None) -> int:
    """Measure, print each section as soon as it is done, and write the page."""
    parser = build_parser()
    options = vars(parser.parse_args(argv))
    names, quick, output = options.pop("parts"), options.pop("quick"), options.pop("output")
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"no part {unknown[0]}; there are {', '.join(PARTS)}")
    given = {name: value for name, value in options.items() if value is not None}
    settings = dataclasses.replace(QUICK if quick else Settings(), **given)
    whole = not names and not quick and settings.rows == "*"
    if not whole and output and output.resolve() == PAGE:
        parser.error("only a whole run writes the page; choose another --output")
    sections = []
    for section in measure_parts(names or list(PARTS), settings):
        print(f"## {section.title}\n\n{section.text}\n", flush=True)
        sections.append(section)
    if output := output or (PAGE if whole else None):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(render_page(sections, settings), encoding="utf-8")
        print(f"wrote {output}", file=sys.stderr)
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The command line. An option that is not given has the value of `Settings`, or with --quick of `QUICK`."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = "; ".join(f"{name}: {text}" for name, (text, _) in PARTS.items())
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only this part ({parts})")
    parser.add_argument("--quick", action="store_true", help="tiny settings: the numbers mean nothing")
    parser.add_argument("--rounds", type=int, help="measurements of each contender (15)")
    parser.add_argument("--rows", metavar="PATTERN", help="only rows whose name holds this; * is anything")
    parser.add_argument("--against", metavar="REVISION", help="revision or version to compare with (the last release)")
    parser.add_argument("--suite", help="suite that both versions run (quick)")
    jobs = "jobs of that run, once with each number (2,1); with 1 both run at the same time, pinned"
    parser.add_argument("--jobs", type=_numbers, help=jobs)
    parser.add_argument("--runs", type=int, help="measurements of edits and of orchestration (3)")
    parser.add_argument("--stages", type=_numbers, help="sizes of suites for the overhead per stage (25,75,150,300)")
    parser.add_argument("--patience", type=int, help="stages of the largest suite that the older version runs (150)")
    parser.add_argument("--limit", type=float, help="seconds of training that a method gets to reach the KL (15)")
    parser.add_argument("--seeds", type=int, help="trainings of each method to the KL (1)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page here")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


if __name__ == "__main__":
    sys.exit(main())

"""`ebmbench report`, which builds, releases or exports a report, and `ebmbench compare`: two reports or two methods."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, explain_write_errors, find_root
from ebmbench.errors import UserError
from ebmbench.workspace.layout import report_folder

REPORT_TEXT = (
    "Build reports/<suite>/latest, release it as a version that is never edited again, or export its numbers "
    "(docs/results.md explains the columns)"
)
REPORT_EXAMPLE = "ebmbench report | ebmbench report release 0.1.0 | ebmbench report export results.parquet"
COMPARE_TEXT = (
    "Compare two reports (which numbers moved by more than their interval, which parameters and code changed), or two "
    "methods inside the latest report (differences seed by seed)"
)
COMPARE_EXAMPLE = """\
ebmbench compare HEAD~1 | ebmbench compare v0.2.0 main | ebmbench compare reports/quick/0.2.0
         ebmbench compare dsm nce | ebmbench compare "adance interval=5" mle --suite adance_interval"""


def add_commands(commands: Any) -> None:
    """Register `report` and `compare`."""
    command = add_command(commands, "report", REPORT_TEXT, REPORT_EXAMPLE, report)
    command.add_argument("action", nargs="?", choices=["build", "release", "export"], default="build")
    target = "the version to release, e.g. 0.1.0; or the file to export to, .csv, .json or .parquet"
    command.add_argument("target", nargs="?", metavar="VERSION|FILE", help=target)
    source = "export: the report to take the numbers from, e.g. reports/quick/0.3.0 (default: the latest)"
    command.add_argument("--from", dest="source", type=Path, metavar="FOLDER", help=source)

    command = add_command(commands, "compare", COMPARE_TEXT, COMPARE_EXAMPLE, compare)
    side = "a Git revision or tag, a report's folder, or workspace"
    command.add_argument("before", metavar="A", help=f"the earlier side: {side}; or a method, if B is one too")
    later = "the later side (default: workspace), or the other method"
    command.add_argument("after", metavar="B", nargs="?", default="workspace", help=later)
    suite = "the suite of both reports (default: that of a report's folder, else that of params.yaml in B)"
    command.add_argument("--suite", help=suite)
    command.add_argument("--output", type=Path, metavar="FILE", help="write to this file instead of the screen")


def report(arguments: argparse.Namespace) -> int:
    """Build, release or export the report."""
    if arguments.source and arguments.action != "export":
        raise UserError(f"report {arguments.action}: found --from, allowed: only with export")
    if arguments.action == "build":
        return _build(arguments.target)
    if arguments.action == "release":
        return _release(arguments.target)
    return _export(arguments.target, arguments.source)


def _build(target: str | None) -> int:
    if target is not None:
        raise UserError(f"report build: found '{target}', allowed: nothing more")
    find_root()
    from ebmbench.stages.report import main

    return main([])


def _release(version: str | None) -> int:
    root = find_root()
    from ebmbench.report.release import release

    if version is None:
        raise UserError("report release: found no version, allowed: a version like 0.1.0")
    print(release(root, _suite(root), version).relative_to(root))
    return 0


def _export(file: str | None, source: Path | None) -> int:
    """Write the numbers of a report's folder, which may be anywhere, or of the project's latest report."""
    if file is None:
        raise UserError("report export: found no file, allowed: a name that ends in .csv, .json or .parquet")
    from ebmbench.report.results.table import load_results, write_results

    frame = load_results(source or report_folder(find_root(), _suite(find_root())))
    with explain_write_errors(Path(file)):
        write_results(frame, Path(file))
    print(f"{file}: {len(frame)} rows")
    return 0


def _suite(root: Path) -> str:
    from ebmbench.config.params import load_params

    return load_params(root).benchmark.suite


def compare(arguments: argparse.Namespace) -> int:
    """Print the comparison of two reports or two methods, or write it to a file."""
    root = find_root()
    from ebmbench.report.compare.page import compare
    from ebmbench.workspace.files import write_text

    text = compare(root, arguments.before, arguments.after, arguments.suite)
    if arguments.output is None:
        print(text, end="")
    else:
        with explain_write_errors(arguments.output):
            write_text(arguments.output, text)
        print(arguments.output)
    return 0

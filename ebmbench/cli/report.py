"""`ebmbench report` (build, show, release, export) and `ebmbench compare` (two reports, or two methods)."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, explain_write_errors, find_root
from ebmbench.errors import UserError
from ebmbench.workspace.layout import BROWSER_PAGES, current_report

REPORT_TEXT = (
    "Build reports/<suite>/latest (or draft, if it is partial or edited), write it as one page for the browser (page), "
    "release it as a version that is never edited again, export its numbers (docs/results.md explains the columns), or "
    "write the leaderboard of all suites, reports/README.md (index)"
)
REPORT_EXAMPLE = "ebmbench report | ebmbench report page | ebmbench report export results.parquet"
ACTIONS = ["build", "page", "release", "export", "index"]
COMPARE_TEXT = (
    "Compare two reports (which numbers moved by more than their interval, which parameters and code changed), or two "
    "methods inside the latest report (differences seed by seed)"
)
COMPARE_EXAMPLE = """\
ebmbench compare HEAD~1 | ebmbench compare v0.2.0 main | ebmbench compare reports/mine/0.1.0
         ebmbench compare dsm nce | ebmbench compare "adance interval=5" mle --suite adance_interval"""


def add_commands(commands: Any) -> None:
    """Register `report` and `compare`."""
    command = add_command(commands, "report", REPORT_TEXT, REPORT_EXAMPLE, report)
    command.add_argument("action", nargs="?", choices=ACTIONS, default="build")
    target = (
        "page: a report's folder (default: the present one); release: the version, e.g. 0.1.0; export: the file, .csv, "
        ".json or .parquet"
    )
    command.add_argument("target", nargs="?", metavar="FOLDER|VERSION|FILE", help=target)
    source = "export: the report to take the numbers from, e.g. reports/toy2d/latest (default: the present one)"
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
    """Build, show, release or export the report, or write the page of all."""
    if arguments.source and arguments.action != "export":
        raise UserError(f"report {arguments.action}: found --from, allowed: only with export")
    if arguments.action in ("build", "index") and arguments.target is not None:
        raise UserError(f"report {arguments.action}: found '{arguments.target}', allowed: nothing more")
    if arguments.action == "export":
        return _export(arguments.target, arguments.source)
    return {"build": _build, "page": _page, "release": _release, "index": _index}[arguments.action](arguments.target)


def _build(_: str | None) -> int:
    root = find_root()
    from ebmbench.report.results.header import describe_outdated
    from ebmbench.stages.report import main

    code = main([])
    if older := describe_outdated(root):
        print(f"{older}; `ebmbench run --suite SUITE` makes one anew")
    return code


def _page(folder: str | None) -> int:
    root = find_root()
    from ebmbench.report.page.html import write_page

    report = Path(folder) if folder else current_report(root, _suite(root))
    name = "-".join(report.resolve().parts[-2:])
    print(write_page(report, root / BROWSER_PAGES / f"{name}.html").relative_to(root))
    return 0


def _index(_: str | None) -> int:
    root = find_root()
    from ebmbench.report.index import write_index

    print(write_index(root).relative_to(root))
    return 0


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

    frame = load_results(source or current_report(find_root(), _suite(find_root())))
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

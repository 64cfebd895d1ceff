"""`ebmbench report`: build the report now, release the current one for good, or export its numbers."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, project, told
from ebmbench.errors import UserError
from ebmbench.workspace.layout import report_folder

TEXT = (
    "Build reports/<suite>/latest, release it as a version that is never edited again, or export its numbers "
    "(the columns are explained in docs/results.md)"
)
EXAMPLE = "ebmbench report | ebmbench report release 0.1.0 | ebmbench report export results.parquet"


def add(commands: Any) -> None:
    """Register the command."""
    command = add_command(commands, "report", TEXT, EXAMPLE, act)
    command.add_argument("action", nargs="?", choices=["build", "release", "export"], default="build")
    command.add_argument(
        "target",
        nargs="?",
        metavar="VERSION|FILE",
        help="the version to release, e.g. 0.1.0; or the file to export to, .csv, .json or .parquet",
    )
    command.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FOLDER",
        help="export: the report whose numbers to take, e.g. reports/quick/0.3.0 (default: the latest)",
    )


def act(arguments: argparse.Namespace) -> int:
    """Build, release or export."""
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
    project()
    from ebmbench.stages.report import main

    return main([])


def _release(version: str | None) -> int:
    root = project()
    from ebmbench.report.release import release

    if version is None:
        raise UserError("report release: found no version, allowed: a version like 0.1.0")
    print(release(root, _suite(root), version).relative_to(root))
    return 0


def _export(file: str | None, source: Path | None) -> int:
    """A report's folder may be anywhere; without one, the project says which."""
    if file is None:
        raise UserError("report export: found no file, allowed: a name that ends in .csv, .json or .parquet")
    from ebmbench.report.results.table import load_results, write_results

    frame = load_results(source or report_folder(project(), _suite(project())))
    with told(Path(file)):
        write_results(frame, Path(file))
    print(f"{file}: {len(frame)} rows")
    return 0


def _suite(root: Path) -> str:
    from ebmbench.config.params import load_params

    return load_params(root).benchmark.suite

"""`ebmbench compare`: what changed between two reports, as Markdown."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, project, told
from ebmbench.workspace.files import write_text


def add(commands: Any) -> None:
    """Register the command."""
    text = "Compare two reports: what moved by more than its interval, and what changed in parameters and code"
    example = "ebmbench compare HEAD~1 | ebmbench compare v0.2.0 main | ebmbench compare reports/quick/0.2.0"
    command = add_command(commands, "compare", text, example, act)
    side = "a Git revision or tag, a report's folder, or workspace"
    command.add_argument("before", metavar="A", help=f"the earlier side: {side}")
    command.add_argument(
        "after", metavar="B", nargs="?", default="workspace", help="the later one (default: workspace)"
    )
    command.add_argument(
        "--suite", help="whose reports to compare (default: that of a report's folder, else of params.yaml in B)"
    )
    command.add_argument("--output", type=Path, metavar="FILE", help="write there and not to the screen")


def act(arguments: argparse.Namespace) -> int:
    """Read both sides, write the text."""
    root = project()
    from ebmbench.report.compare.page import compare

    text = compare(root, arguments.before, arguments.after, arguments.suite)
    if arguments.output is None:
        print(text, end="")
    else:
        with told(arguments.output):
            write_text(arguments.output, text)
        print(arguments.output)
    return 0

"""`ebmbench compare`: what changed between two reports, as Markdown."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, project


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
    command.add_argument("--suite", help="whose reports to compare (default: that of params.yaml on each side)")
    command.add_argument("--output", type=Path, metavar="FILE", help="write there and not to the screen")


def act(arguments: argparse.Namespace) -> int:
    """Read both sides, write the text."""
    root = project()
    from ebmbench.compare.markdown import compare
    from ebmbench.compare.side import open_side

    before, after = (open_side(root, name, arguments.suite) for name in (arguments.before, arguments.after))
    text = compare(root, before, after)
    if arguments.output is None:
        print(text, end="")
    else:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text, encoding="utf-8", newline="\n")
        print(arguments.output)
    return 0

"""`ebmbench list`: what there is, with paper and year, straight from the files."""

import argparse
from typing import Any

from ebmbench.cli.command import add_command
from ebmbench.config.registry import KINDS, entries


def add(commands: Any) -> None:
    """Register the command."""
    text = "List methods, datasets, metrics, samplers, models and baselines with paper and year"
    command = add_command(commands, "list", text, "ebmbench list methods", act)
    command.add_argument(
        "kind", nargs="?", choices=[*("datasets" if kind == "data" else kind for kind in KINDS)], help="only this kind"
    )


def act(arguments: argparse.Namespace) -> int:
    """Print a table per kind."""
    for kind in KINDS:
        title = "datasets" if kind == "data" else kind
        if arguments.kind in (None, title):
            print(f"{title}\n" + "\n".join(_lines(kind)) + "\n")
    return 0


def _lines(kind: str) -> list[str]:
    width = max(map(len, entries(kind)), default=0)
    return [
        f"  {entry.name:<{width}}  {entry.year}  {entry.title}\n  {'':<{width}}        {entry.paper}"
        for entry in entries(kind).values()
    ]

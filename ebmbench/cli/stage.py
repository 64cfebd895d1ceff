"""`ebmbench prepare | baselines | train | sample | evaluate`: single stages by hand, the same code that DVC runs."""

import argparse
import importlib
from collections.abc import Callable
from typing import Any

from ebmbench.cli.command import add_command, project
from ebmbench.workspace.code_hash import freeze

TEXTS = {
    "prepare": "Draw or read a dataset and write prepared/<dataset>/",
    "baselines": "Judge the baselines on a dataset",
    "train": "Train every run of one cell: all swept settings, all seeds",
    "sample": "Sample every trained run of one cell",
    "evaluate": "Judge every trained run of one cell",
}


def add(commands: Any) -> None:
    """Register the five commands."""
    for name, text in TEXTS.items():
        whole = name in ("prepare", "baselines")
        example = f"ebmbench {name} two_moons" + ("" if whole else " dsm")
        command = add_command(commands, name, text, example, _act(name))
        command.add_argument("dataset", help="a dataset of params.yaml")
        if not whole:
            command.add_argument("method", help="a method of params.yaml")
            command.add_argument("--fresh", action="store_true", help="make everything anew, even what work/ still has")


def _act(name: str) -> Callable[[argparse.Namespace], int]:
    def act(arguments: argparse.Namespace) -> int:
        root = project()
        if arguments.own_process:
            freeze(root)
        words = [arguments.dataset, *([arguments.method] if hasattr(arguments, "method") else [])]
        words += ["--fresh"] if getattr(arguments, "fresh", False) else []
        code: int = importlib.import_module(f"ebmbench.stages.{name}").main(words)
        return code

    return act

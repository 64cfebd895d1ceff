"""What all commands share: how one is registered, the project's root, and errors about arguments."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ebmbench.errors import UserError
from ebmbench.workspace.layout import PARAMS_YAML

Act = Callable[[argparse.Namespace], int]  # what a command does with its arguments; it returns the exit code


def add_command(commands: Any, name: str, text: str, example: str, act: Act) -> argparse.ArgumentParser:
    """Register a command with its help and an example."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text[0].lower() + text[1:].partition(". ")[0],
        description=text + ".",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(act=act)
    return command


def find_root() -> Path:
    """The project's root: the current folder, which must hold `params.yaml`."""
    root = Path.cwd()
    if not (root / PARAMS_YAML).is_file():
        raise UserError(
            f"params.yaml: not found in {root}; run ebmbench in the project's root, or `ebmbench suite use quick` there"
        )
    return root


def at_least(minimum: int) -> Callable[[str], int]:
    """The type of an argument that is a whole number."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"found '{text}', allowed: a whole number, {minimum} or more")
        return int(text)

    return parse


@contextmanager
def explain_write_errors(file: Path) -> Iterator[None]:
    """Report in one line that a file which the user named cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror or error}") from error

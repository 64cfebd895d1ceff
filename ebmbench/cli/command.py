"""One way to add a subcommand: name, what it does, an example."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ebmbench.errors import UserError
from ebmbench.workspace.layout import PARAMS_YAML


def add_command(
    commands: Any, name: str, text: str, example: str, act: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """A subcommand with help and example; `act` gets the parsed arguments and gives the exit code."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text[0].lower() + text[1:],
        description=text + ".",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(act=act)
    return command


def project() -> Path:
    """The project's root: the current folder, which must hold `params.yaml`."""
    root = Path.cwd()
    if not (root / PARAMS_YAML).is_file():
        raise UserError(
            f"params.yaml: not found in {root}; run ebmbench in the project's root, or `ebmbench suite use quick` there"
        )
    return root


@contextmanager
def told(file: Path) -> Iterator[None]:
    """A file that the user named and that cannot be written is the user's to mend."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror or error}") from error

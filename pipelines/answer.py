"""How a run, or the plan of one, is told: as text, or with `--json` as one object on stdout and nothing else there."""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, Protocol

from ebmbench.core.errors import UserError
from pipelines.stopping import EXIT_STOPPED

EXIT_USER_ERROR = 2
STOPPED = "stopped before anything was done"


class Answer(Protocol):
    """A `Result` or a `Forecast`."""

    @property
    def exit_code(self) -> int:
        """How the command ends."""

    @property
    def told(self) -> str:
        """For a person."""

    @property
    def record(self) -> dict[str, Any]:
        """For a program."""


def answer(ask: Callable[[], Answer], as_json: bool) -> int:
    """Print what `ask` gives; the exit code."""
    if as_json:
        return _as_json(ask)
    given = ask()
    print(given.told)
    return given.exit_code


def exit_code_of(error: UserError) -> int:
    """2, the request's fault, unless the error says otherwise."""
    return int(getattr(error, "exit_code", EXIT_USER_ERROR))


def _as_json(ask: Callable[[], Answer]) -> int:
    """A refusal is an object too, so that whoever reads stdout always finds one."""
    try:
        with redirect_stdout(sys.stderr):
            given = ask()
            print(given.told)
        record = given.record
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        record = {"exit_code": exit_code_of(error), "error": str(error)}
    except KeyboardInterrupt:
        record = {"exit_code": EXIT_STOPPED, "error": STOPPED}
    print(json.dumps(record, indent=2))
    return int(record["exit_code"])

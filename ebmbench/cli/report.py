"""`ebmbench report`: build the report now, or release the current one for good."""

import argparse
from typing import Any

from ebmbench.cli.command import add_command, project
from ebmbench.core.params import load_params


def add(commands: Any) -> None:
    """Register the command."""
    text = "Build reports/<suite>/latest, or release it as a version that is never edited again"
    command = add_command(commands, "report", text, "ebmbench report | ebmbench report release 0.1.0", act)
    command.add_argument("action", nargs="?", choices=["build", "release"], default="build")
    command.add_argument("version", nargs="?", help="the version to release, e.g. 0.1.0")


def act(arguments: argparse.Namespace) -> int:
    """Build or release."""
    root = project()
    if arguments.action == "build":
        from ebmbench.stages.report import main

        return main([])
    from ebmbench.core.errors import UserError
    from ebmbench.report.release import release

    if arguments.version is None:
        raise UserError("report release: found no version, allowed: a version like 0.1.0")
    print(release(root, load_params(root).benchmark.suite, arguments.version).relative_to(root))
    return 0

"""`ebmbench serve`: the benchmark of a revision on a schedule, in a clone of its own."""

import argparse
from typing import Any

from ebmbench.cli.command import add_command, project

EXAMPLES = """\
ebmbench serve --cron "0 3 * * *" --keep nightly     every night at three (UTC), each new report kept
         ebmbench serve --cron "0 3 * * sun" --timezone Europe/Zurich --suite toy2d --revision main

A run uses a clone of the revision (default: work/scheduled/clone), so it never meets the files you edit, and
what is not committed is not in it. With nothing new it ends in seconds. docs/schedules.md tells more."""


def add(commands: Any) -> None:
    """Register the command."""
    text = "Run the benchmark on a schedule, in a clone of its own, until stopped by Ctrl-C"
    command = add_command(commands, "serve", text, EXAMPLES, act)
    command.add_argument("--cron", required=True, metavar="LINE", help='when: five fields, "0 3 * * *" is 3:00 daily')
    command.add_argument(
        "--timezone", default="UTC", metavar="NAME", help="of --cron, e.g. Europe/Zurich (default: UTC)"
    )
    _what(command)
    _where(command)


def _what(command: argparse.ArgumentParser) -> None:
    from pipelines.options import add_choice

    command.add_argument(
        "--revision",
        default="HEAD",
        metavar="REV",
        help="branch, tag or commit, looked up at every run (default: HEAD)",
    )
    command.add_argument("--suite", help="the suite to run (default: what params.yaml says at that revision)")
    add_choice(command)


def _where(command: argparse.ArgumentParser) -> None:
    command.add_argument("--keep", metavar="FOLDER", help="copy each new report to FOLDER/<suite>/<time>-<commit>/")
    command.add_argument("--clone", metavar="FOLDER", help="where the clone is (default: work/scheduled/clone)")
    command.add_argument(
        "--commit",
        action="store_true",
        help="commit dvc.lock and reports/ as branch scheduled/<suite>/<commit> of this repository (default: nothing)",
    )
    command.add_argument("--name", help="of the deployment in Prefect (default: this folder's, and --suite)")
    command.add_argument(
        "--port", type=int, default=4200, help="of the Prefect server that is started if you have none (default: 4200)"
    )


def act(arguments: argparse.Namespace) -> int:
    """Serve until stopped."""
    from pipelines.flows.schedule import Order, Times, serve

    root = project()
    chosen = {key: getattr(arguments, key) for key in ("revision", "suite", "jobs", "keep", "clone", "commit")}
    order = Order(workspace=str(root), only=tuple(arguments.only), **chosen)
    name = arguments.name or "-".join(filter(None, [root.name, arguments.suite]))
    serve(order, Times(arguments.cron, arguments.timezone), name, arguments.port)
    return 0

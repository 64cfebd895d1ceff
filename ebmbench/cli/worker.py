"""`ebmbench worker`: let this machine run stages for a Dask scheduler."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, project

EXAMPLE = """\
ebmbench worker tcp://127.0.0.1:8786 --jobs 2
         then, where the flow is:  ebmbench run --scheduler tcp://127.0.0.1:8786

Each job has a clone of its own in work/workers/, and each GPU that is visible goes to one job. Needs the extra
`dask` and a default DVC remote that all machines reach; docs/machines.md shows it from zero."""


def add(commands: Any) -> None:
    """Register the command."""
    text = "Run stages for a Dask scheduler, in clones of this folder, until Ctrl-C"
    command = add_command(commands, "worker", text, EXAMPLE, act)
    command.add_argument("scheduler", metavar="ADDRESS", help="of the scheduler, as tcp://127.0.0.1:8786")
    command.add_argument("--jobs", type=int, metavar="N", help="stages at a time (default: one per core)")


def act(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    project()
    from pipelines.cluster.worker import serve

    return serve(Path.cwd(), arguments.scheduler, arguments.jobs)

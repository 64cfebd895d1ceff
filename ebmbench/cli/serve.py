"""Commands that run until Ctrl-C: `ebmbench serve` (on a schedule) and `ebmbench worker` (for a Dask scheduler)."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, at_least, find_root
from pipelines.options import add_selection

SERVE_EXAMPLES = """\
ebmbench serve --cron "0 3 * * *" --keep nightly     every night at three (UTC), keeping each new report
         ebmbench serve --cron "0 3 * * sun" --timezone Europe/Zurich --suite toy2d --revision main

A run uses a clone of the revision (default: work/scheduled/clone). It never sees the files that you edit, and
what is not committed is not in it. If nothing is new, it ends within seconds. More in docs/schedules.md."""
WORKER_EXAMPLES = """\
ebmbench worker tcp://127.0.0.1:8786 --jobs 2
         then, on the machine of the flow:  ebmbench run --scheduler tcp://127.0.0.1:8786

Each job has its own clone in work/workers/, and each visible GPU is given to one job. This needs the extra
`dask` and a default DVC remote that all machines can reach. docs/machines.md explains it step by step."""


def add_commands(commands: Any) -> None:
    """Register `serve` and `worker`."""
    text = "Run the benchmark on a schedule, in a clone of its own, until Ctrl-C"
    _add_serve_options(add_command(commands, "serve", text, SERVE_EXAMPLES, serve))
    text = "Run stages for a Dask scheduler, in clones of this folder, until Ctrl-C"
    command = add_command(commands, "worker", text, WORKER_EXAMPLES, work)
    command.add_argument("scheduler", metavar="ADDRESS", help="the scheduler's address, as tcp://127.0.0.1:8786")
    command.add_argument("--jobs", type=at_least(1), metavar="N", help="stages at a time (default: one per core)")


def _add_serve_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--cron", required=True, metavar="LINE", help='when to run: five fields, "0 3 * * *" is 3:00 daily')
    add("--timezone", default="UTC", metavar="NAME", help="time zone of --cron, e.g. Europe/Zurich (default: UTC)")
    revision = "branch, tag or commit, looked up at every run (default: HEAD)"
    add("--revision", default="HEAD", metavar="REV", help=revision)
    add("--suite", help="the suite to run (default: that of params.yaml at the revision)")
    add_selection(command)
    add("--keep", metavar="FOLDER", help="copy each new report to FOLDER/<suite>/<time>-<commit>/")
    add("--clone", metavar="FOLDER", help="where the clone is (default: work/scheduled/clone)")
    commit = "commit dvc.lock and reports/ to the branch scheduled/<suite>/<commit> of this repository (default: no)"
    add("--commit", action="store_true", help=commit)
    add("--name", help="name of the deployment in Prefect (default: this folder's name, with --suite)")
    port = "port of the Prefect server that is started if none is running (default: 4200)"
    add("--port", type=int, default=4200, help=port)


def serve(arguments: argparse.Namespace) -> int:
    """Run the benchmark on a schedule until stopped."""
    from pipelines.flows.serve import RunRequest, serve_schedule

    root = find_root()
    chosen = {key: getattr(arguments, key) for key in ("revision", "suite", "jobs", "keep", "clone", "commit")}
    request = RunRequest(workspace=str(root), only=tuple(arguments.only), **chosen)
    name = arguments.name or "-".join(filter(None, [root.name, arguments.suite]))
    serve_schedule(request, arguments.cron, arguments.timezone, name, arguments.port)
    return 0


def work(arguments: argparse.Namespace) -> int:
    """Run stages for a scheduler until stopped."""
    find_root()
    from pipelines.cluster.worker import run_workers

    return run_workers(Path.cwd(), arguments.scheduler, arguments.jobs)

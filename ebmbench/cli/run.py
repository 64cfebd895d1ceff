"""`ebmbench run`: check the parameters, tidy the workspace, and let the flow run what is stale."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmbench.cli.command import add_command, project
from ebmbench.errors import UserError
from pipelines.options import add_options, scheduler_of

if TYPE_CHECKING:
    from pipelines.outcome import Answer

EXAMPLES = """\
ebmbench run --suite quick --jobs 2     switch to a suite and run it, two stages at a time
         ebmbench run --dry-run                  what would run, and why; runs nothing
         ebmbench run --only dsm/two_moons       one cell, what it needs, and the report
         ebmbench run --only dsm --only /digits  all cells of a method and all of a dataset, with its baselines
         ebmbench run --fail-fast                start nothing after a failure; --keep-going is the default
         ebmbench run --wait                     wait for the run that is at work here, then run
         ebmbench run --json > run.json          the outcome for another program, progress on the screen
         ebmbench run --scheduler tcp://10.0.0.1:8786   on the machines where `ebmbench worker` runs

exit codes: 0 done, 1 a stage failed or another run is at work here, 2 the request or params.yaml is wrong,
130 stopped by Ctrl-C or cancelled in Prefect, 143 stopped by SIGTERM"""


def add(commands: Any) -> None:
    """Register the command."""
    text = "Run everything that is stale, in parallel, and write the report"
    command = add_command(commands, "run", text, EXAMPLES, act)
    command.add_argument("--suite", help="write this suite into params.yaml first")
    add_options(command)


def act(arguments: argparse.Namespace) -> int:
    """Run or plan, and tell of it."""
    from pipelines.outcome import answer

    return answer(lambda: _plan(arguments) if arguments.dry_run else _run(arguments), arguments.json)


def _plan(arguments: argparse.Namespace) -> "Answer":
    from ebmbench.config.params import load_params
    from ebmbench.stages.inputs import require_keys
    from pipelines.outcome import forecast

    if arguments.suite:
        name = arguments.suite
        raise UserError(f"--dry-run writes nothing, so not the suite either; first `ebmbench suite use {name}`")
    root = project()
    load_params(root)
    require_keys(root)
    return forecast(root, arguments.only, arguments.wait)


def _run(arguments: argparse.Namespace) -> "Answer":
    from ebmbench.config.params import load_params
    from pipelines.benchmark import run

    root = Path.cwd() if arguments.suite else project()
    if not arguments.suite:
        load_params(root)  # a fault in it is told before anything else is
    return run(
        root,
        arguments.jobs,
        arguments.keep_going,
        arguments.only,
        arguments.wait,
        scheduler_of(arguments),
        prepare=lambda: _prepare(root, arguments.suite),
    )


def _prepare(root: Path, suite: str | None) -> None:
    """Only while no other run is at work: its stages read params.yaml and write what is tidied here."""
    from ebmbench.config import suites
    from ebmbench.config.params import load_params
    from ebmbench.stages import preparation

    if suite:
        suites.use(root, suite)
    preparation.ready(root, load_params(root))

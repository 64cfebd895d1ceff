"""`ebmbench run`: check the parameters, tidy the workspace, and let the flow run what is stale."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, project
from ebmbench.core.params import load_params


def add(commands: Any) -> None:
    """Register the command."""
    text = "Run everything that is stale, in parallel, and write the report"
    command = add_command(commands, "run", text, "ebmbench run --suite quick --jobs 2", act)
    command.add_argument("--suite", help="write this suite into params.yaml first")
    command.add_argument("--jobs", type=_positive, help="stages at a time (default: one per core)")
    command.add_argument(
        "--fail-fast", action="store_true", help="stop at the first failure (default: go on with the others)"
    )


def act(arguments: argparse.Namespace) -> int:
    """Prepare the workspace and start the flow."""
    from ebmbench.stages import suites, workspace

    root = Path.cwd()
    if arguments.suite:
        suites.use(root, arguments.suite)
    root = project()
    workspace.ready(root, load_params(root))
    from pipelines.benchmark import run

    result = run(root, jobs=arguments.jobs, keep_going=not arguments.fail_fast)
    print(result.told)
    return result.exit_code


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"found {value}, allowed: 1 or more")
    return value

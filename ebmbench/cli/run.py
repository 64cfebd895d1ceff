"""`ebmbench run`, which runs what is stale, and `ebmbench prepare | baselines | train | sample | evaluate`.

The latter run a single stage by hand, with the same code that DVC calls.
"""

import argparse
import importlib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmbench.cli.command import Act, add_command, find_root
from ebmbench.errors import UserError
from ebmbench.workspace.code_hash import freeze
from ebmbench.workspace.layout import BASELINES, cell_folder, prepared_folder, suite_of
from pipelines.options import add_options, scheduler_of

if TYPE_CHECKING:
    from pipelines.outcome import Printable

EXAMPLES = """\
ebmbench run --suite quick --jobs 2     switch to a suite and run it, two stages at a time
         ebmbench run --dry-run                  say what would run and why; run nothing
         ebmbench run --only dsm/two_moons       one cell, what it needs, its baselines, and the report
         ebmbench run --only dsm --only /digits  all cells of a method and all of a dataset, with its baselines
         ebmbench run --no-report                train and judge, and leave the report for later
         ebmbench run --fail-fast                start nothing after a failure; --keep-going is the default
         ebmbench run --wait                     wait for another run in this folder to end, then run
         ebmbench run --json > run.json          the outcome for another program, progress on the screen
         ebmbench run --scheduler tcp://10.0.0.1:8786   on the machines where `ebmbench worker` runs

exit codes: 0 done, 1 a stage failed or another run is at work here, 2 the request or params.yaml is wrong,
130 stopped by Ctrl-C or cancelled in Prefect, 143 stopped by SIGTERM"""
DATASET_STAGES = {
    "prepare": "Draw or read a dataset and write prepared/<dataset>/",
    "baselines": "Judge the baselines on a dataset",
}
CELL_STAGES = {
    "train": "Train every run of one cell: all swept settings, all seeds",
    "sample": "Sample every trained run of one cell",
    "evaluate": "Judge every trained run of one cell",
}


def add_commands(commands: Any) -> None:
    """Register `run` and the stages."""
    text = "Run everything that is stale, in parallel, and write the report"
    command = add_command(commands, "run", text, EXAMPLES, run)
    command.add_argument("--suite", help="write this suite into params.yaml first")
    add_options(command)
    for name, text in (DATASET_STAGES | CELL_STAGES).items():
        example = f"ebmbench {name} two_moons" + (" dsm" if name in CELL_STAGES else "")
        command = add_command(commands, name, text, example, _run_stage(name))
        command.add_argument("dataset", help="a dataset of params.yaml")
        if name in CELL_STAGES:
            command.add_argument("method", help="a method of params.yaml")
            command.add_argument("--fresh", action="store_true", help="make everything anew, even what work/ still has")


def run(arguments: argparse.Namespace) -> int:
    """Run what is stale, or say what would run."""
    if not arguments.dry_run:  # before the imports, which take seconds from a cold disk
        print("starting: asking DVC what is stale", file=sys.stderr, flush=True)
    from pipelines.outcome import print_outcome

    return print_outcome(lambda: _plan(arguments) if arguments.dry_run else _run(arguments), arguments.json)


def _plan(arguments: argparse.Namespace) -> "Printable":
    from ebmbench.config.params import load_params
    from ebmbench.stages.preparation import check_workspace
    from pipelines.outcome import forecast

    if arguments.suite:
        name = arguments.suite
        raise UserError(f"--dry-run writes nothing, so not the suite either; first `ebmbench suite use {name}`")
    root = find_root()
    params = load_params(root)
    return forecast(root, arguments.only, arguments.wait, partial(check_workspace, root, params), arguments.report)


def _run(arguments: argparse.Namespace) -> "Printable":
    from ebmbench.config.params import load_params
    from ebmbench.report.results.header import describe_outdated
    from ebmbench.stages.checks import confirm_suite
    from pipelines.benchmark import run

    root = Path.cwd() if arguments.suite else find_root()
    if not arguments.suite:
        load_params(root)  # so that an error in it is reported before anything else
    result = run(
        root,
        arguments.jobs,
        arguments.keep_going,
        arguments.only,
        arguments.wait,
        scheduler_of(arguments),
        arguments.report,
        prepare=lambda: _prepare(root, arguments.suite),
    )
    if result.stages and not result.exit_code and not arguments.only:
        confirm_suite(root, load_params(root))
    if older := describe_outdated(root, suite_of(root)):
        print(f"{older}; a full run makes it anew", file=sys.stderr)
    return result


def _prepare(root: Path, suite: str | None) -> None:
    """Switch the suite and tidy the workspace. The caller holds the workspace's lock, so no stage is running."""
    from ebmbench.config import suites
    from ebmbench.config.params import load_params
    from ebmbench.stages import preparation

    if suite:
        suites.use(root, suite)
    preparation.prepare_workspace(root, load_params(root))


def _run_stage(name: str) -> Act:
    def act(arguments: argparse.Namespace) -> int:
        root = find_root()
        if arguments.own_process:
            freeze(root)
        words = [arguments.dataset]
        if name in CELL_STAGES:
            words += [arguments.method, *(["--fresh"] if arguments.fresh else [])]
        code: int = importlib.import_module(f"ebmbench.stages.{name}").main(words)
        if code == 0:
            print(_results_of(root, name, *words[:2]))
        return code

    return act


def _results_of(root: Path, stage: str, dataset: str, method: str = BASELINES) -> str:
    """The folder that a stage has written, from the root."""
    if stage == "prepare":
        return prepared_folder(root, dataset).relative_to(root).as_posix()
    cell = cell_folder(root, suite_of(root), dataset, method)
    return (cell / stage if stage in ("train", "sample") else cell).relative_to(root).as_posix()

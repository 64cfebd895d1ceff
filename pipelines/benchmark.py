"""Run the whole benchmark: lock the workspace, plan, and start Prefect only if something is stale.

`ebmbench run` calls `run`; `python -m pipelines.benchmark` does the same without checking the parameters first.
`pipelines/benchmark.py:benchmark` is the flow for a Prefect deployment. Prefect takes seconds to import, so it is
imported on demand.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmbench.errors import DEBUG, make_console_safe, run_command
from ebmbench.workspace.layout import OUTCOMES, report_of, require_pipeline
from ebmbench.workspace.locks import hold_workspace
from pipelines.execution.head_start import HeadStart, Run, use_run
from pipelines.execution.local import Runner, open_runner
from pipelines.execution.signals import describe_interrupt, raise_on_sigterm, stop_exit_code
from pipelines.execution.warm import open_warm_dvc
from pipelines.flows.server import prepare_prefect, set_environment
from pipelines.options import add_options, scheduler_of
from pipelines.outcome import (
    Printable,
    Result,
    forecast,
    print_outcome,
    read_result,
)
from pipelines.planning.lockfile import LockBuffer
from pipelines.planning.plan import Plan, read_plan
from pipelines.planning.resources import count_jobs

if TYPE_CHECKING:
    from pipelines.flows.benchmark import benchmark as benchmark


def __getattr__(name: str) -> Any:
    """Import the flow on demand, for `prefect deploy` and `benchmark.serve`."""
    if name == "benchmark":
        from pipelines.flows.benchmark import benchmark

        return benchmark
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run(
    root: Path,
    jobs: int | None = None,
    keep_going: bool = True,
    only: Sequence[str] = (),
    wait: bool = False,
    scheduler: str | None = None,
    report: bool = True,
    prepare: Callable[[], None] = lambda: None,
) -> Result:
    """Bring the workspace `root` up to date. A failed or stopped run is a result too, not an exception.

    Without `report` the report stays as it was. `prepare` is called before planning, while the workspace is locked, and
    may write to it.
    """
    root = root.resolve()
    jobs = count_jobs(jobs)
    require_pipeline(root)
    try:
        with raise_on_sigterm(), hold_workspace(root, wait), open_warm_dvc(root) as warm:
            prepare()
            LockBuffer(root).recover()
            plan = read_plan(root, only, warm.call, report)
            if not plan.todo:
                return Result(report=report_of(root) if report else None, only=plan.only)
            set_environment()  # with Dask the next line imports Prefect
            with open_runner(root, plan, jobs, scheduler, warm) as runner:
                return _run_flow(root, plan, runner, jobs, keep_going, scheduler)
    except KeyboardInterrupt as interrupt:
        stopped = describe_interrupt(interrupt)
        return Result(exit_code=stop_exit_code(stopped), stopped=stopped, only=tuple(only))


def _run_flow(
    root: Path, plan: Plan, runner: Runner, jobs: int | None, keep_going: bool, scheduler: str | None
) -> Result:
    """Run the plan as a Prefect flow. The first stages start while Prefect does."""
    (root / OUTCOMES).unlink(missing_ok=True)
    early: HeadStart | None = None
    try:
        early, started = HeadStart(runner, plan, keep_going), time.monotonic()
        print(f"starting Prefect, while the first of {len(plan.todo)} stages run", file=sys.stderr, flush=True)
        prepare_prefect(root, meanwhile=lambda: import_module("pipelines.flows.benchmark"))
        from pipelines.flows.benchmark import benchmark

        with use_run(Run(plan, early, started)):
            chosen = list(plan.only) or None
            state = benchmark(str(root), jobs, keep_going, chosen, scheduler, plan.has_report, return_state=True)
    except BaseException as error:  # the server died, or a second Ctrl-C: the result may be saved already
        if _is_interruption(error) and (result := read_result(root)) is not None:
            return result
        raise
    finally:
        if early is not None:
            early.close()
    if (result := read_result(root)) is None:  # the flow crashed before it saved a result; this raises its error
        state.result()
        raise RuntimeError(f"the flow ended without a result: {state}")
    return result


def _is_interruption(error: BaseException) -> bool:
    import httpx

    return isinstance(error, httpx.HTTPError | KeyboardInterrupt)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.benchmark", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="the workspace (default: this folder)")
    add_options(parser)
    make_console_safe()
    options = parser.parse_args(arguments)
    return run_command(lambda: print_outcome(lambda: _run_or_forecast(options), options.json), f"{DEBUG}=1")


def _run_or_forecast(options: argparse.Namespace) -> Printable:
    if options.dry_run:
        return forecast(options.root.resolve(), options.only, options.wait, report=options.report)
    scheduler = scheduler_of(options)
    return run(options.root, options.jobs, options.keep_going, options.only, options.wait, scheduler, options.report)


if __name__ == "__main__":
    sys.exit(main())

"""The whole benchmark with one call: lock, plan, and only if something is stale, Prefect.

`run` is what `ebmbench run` calls, with the check of the parameters to be made once the workspace is its own;
`python -m pipelines.benchmark` leaves that to the stages. A schedule names `pipelines/benchmark.py:benchmark`.
Prefect takes seconds to import and longer to start, so it is imported on demand: a run with nothing to do never
meets it.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmbench.errors import DEBUG, UserError, forgiving, in_words
from ebmbench.workspace.layout import OUTCOMES, report_of, require_pipeline
from ebmbench.workspace.locks import hold_workspace
from pipelines.execution.signals import EXIT_STOPPED, exit_code_of_stop, named, sigterm_stops
from pipelines.options import add_options, scheduler_of
from pipelines.outcome import EXIT_FAILED, STOPPED_EARLY, Answer, Result, answer, exit_code_of, forecast, read_result
from pipelines.planning.plan import Plan, handing_over, read_plan
from pipelines.planning.resources import jobs_or_cores

if TYPE_CHECKING:
    from pipelines.flows.benchmark import benchmark as benchmark


def __getattr__(name: str) -> Any:
    """The flow itself, for `prefect deploy` and `benchmark.serve`."""
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
    prepare: Callable[[], None] = lambda: None,
) -> Result:
    """Bring the workspace `root` up to date; a failed or stopped run is told by the result, not raised.

    `prepare` is called before the plan is made and while no other flow can be at work: it may write to the workspace.
    """
    root = root.resolve()
    jobs = jobs_or_cores(jobs)
    require_pipeline(root)
    try:
        with sigterm_stops(), hold_workspace(root, wait):
            prepare()
            plan = read_plan(root, only)
            if not plan.todo:
                return Result(report=report_of(root), only=plan.only)
            return _through_prefect(root, plan, jobs, keep_going, scheduler)
    except KeyboardInterrupt as interrupt:
        stopped = named(interrupt)
        return Result(exit_code=exit_code_of_stop(stopped), stopped=stopped, only=tuple(only))


def _through_prefect(root: Path, plan: Plan, jobs: int, keep_going: bool, scheduler: str | None) -> Result:
    from pipelines.flows.server import prepare_prefect

    (root / OUTCOMES).unlink(missing_ok=True)
    prepare_prefect(root)
    import httpx

    from pipelines.flows.benchmark import benchmark

    try:
        with handing_over(plan):
            state = benchmark(str(root), jobs, keep_going, list(plan.only) or None, scheduler, return_state=True)
    except (httpx.HTTPError, KeyboardInterrupt):  # its server is gone, or the user impatient; what was done is known
        if (result := read_result(root)) is not None:
            return result
        raise
    if (result := read_result(root)) is None:  # the flow broke before it could write; its own error says most
        state.result()
        raise RuntimeError(f"the flow ended without a result: {state}")
    return result


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.benchmark", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="the workspace (default: this folder)")
    add_options(parser)
    forgiving()
    options = parser.parse_args(arguments)
    try:
        return answer(lambda: _ask(options), options.json)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return exit_code_of(error)
    except KeyboardInterrupt:
        print(STOPPED_EARLY, file=sys.stderr)
        return EXIT_STOPPED
    except Exception as error:
        if os.environ.get(DEBUG, "0") not in ("", "0"):
            raise
        print(f"error: {in_words(error)} ({DEBUG}=1 shows where)", file=sys.stderr)
        return EXIT_FAILED


def _ask(options: argparse.Namespace) -> Answer:
    if options.dry_run:
        return forecast(options.root.resolve(), options.only, options.wait)
    return run(options.root, options.jobs, options.keep_going, options.only, options.wait, scheduler_of(options))


if __name__ == "__main__":
    sys.exit(main())

"""The whole benchmark with one call: lock, plan, and only if something is stale, Prefect.

`run` is what `ebmbench run` calls once it has checked the parameters; `python -m pipelines.benchmark` leaves that
to the stages. A schedule names
`pipelines/benchmark.py:benchmark`. Prefect takes seconds to import and longer to start, so it is imported on
demand: a run with nothing to do never meets it.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmbench.core.errors import UserError
from pipelines.cores import jobs_or_cores
from pipelines.lock import only_flow
from pipelines.outcome import EXIT_STOPPED, Result, read_result
from pipelines.plan import Plan, read_plan
from pipelines.workspace import OUTCOMES, report_of

if TYPE_CHECKING:
    from pipelines.flow import benchmark as benchmark

EXIT_USER_ERROR = 2


def __getattr__(name: str) -> Any:
    """The flow itself, for `prefect deploy` and `benchmark.serve`."""
    if name == "benchmark":
        from pipelines.flow import benchmark

        return benchmark
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run(root: Path, jobs: int | None = None, keep_going: bool = True) -> Result:
    """Bring the workspace `root` up to date; a failed or stopped run is told by the result, not raised."""
    root = root.resolve()
    jobs = jobs_or_cores(jobs)
    if not (root / "dvc.yaml").exists():
        raise UserError(f"{root}: no dvc.yaml here; this is not the benchmark's folder")
    try:
        with only_flow(root):
            plan = read_plan(root)
            if not plan.todo:
                return Result(report=report_of(root))
            return _through_prefect(root, plan, jobs, keep_going)
    except KeyboardInterrupt:
        return Result(exit_code=EXIT_STOPPED)


def _through_prefect(root: Path, plan: Plan, jobs: int, keep_going: bool) -> Result:
    from pipelines.server import prepare_prefect

    (root / OUTCOMES).unlink(missing_ok=True)
    prepare_prefect(root)
    import httpx

    from pipelines.flow import PLANNED, benchmark

    token = PLANNED.set(plan)
    try:
        state = benchmark(str(root), jobs, keep_going, return_state=True)
    except httpx.HTTPError:  # Prefect's server is gone; what the stages did is known all the same
        if (result := read_result(root)) is not None:
            return result
        raise
    finally:
        PLANNED.reset(token)
    if (result := read_result(root)) is None:  # the flow broke before it could write; its own error says most
        state.result()
        raise RuntimeError(f"the flow ended without a result: {state}")
    return result


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.benchmark", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="the workspace (default: this folder)")
    parser.add_argument("--jobs", type=int, help="stages at a time (default: one per core)")
    parser.add_argument("--stop-at-failure", action="store_true", help="start nothing after a failure")
    options = parser.parse_args(arguments)
    try:
        result = run(options.root, options.jobs, keep_going=not options.stop_at_failure)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USER_ERROR
    print(result.told)
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())

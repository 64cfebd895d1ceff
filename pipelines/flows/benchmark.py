"""The Prefect flow `benchmark`: one task run per stage, with a state that says how it ended.

Prefect records; the queue decides what starts. Prefect's own `wait_for` would block a thread per waiting task.

Prefect's runner kills the process of a flow that it started. A flow that was started in a terminal has no runner: when
its run is cancelled in Prefect, the state becomes `Cancelling` and only the flow itself can act on it, so it polls.
"""

import time
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.exceptions import TerminationSignal
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed, Failed

from ebmbench.errors import in_words
from ebmbench.workspace.layout import PARAMS_YAML, suite_of
from ebmbench.workspace.locks import hold_workspace
from pipelines.display import numbers_reader, progress_reader, repeat, show_progress
from pipelines.estimate import read_costs
from pipelines.execution.head_start import HeadStart, current_run, forced_stages
from pipelines.execution.local import Runner, open_runner
from pipelines.execution.queue import RunStage, run_queue
from pipelines.execution.signals import BY_SIGTERM, IN_PREFECT, describe_interrupt
from pipelines.execution.warm import open_warm_dvc
from pipelines.flows.artifacts import REFRESH_SECONDS, Artifacts
from pipelines.flows.publish import add_comparison, add_standings, name_run
from pipelines.outcome import FAILED, STOPPED, Outcome, Result, Unfinished, conclude, write_result
from pipelines.planning.lockfile import LockBuffer
from pipelines.planning.plan import Plan, Stage, read_plan

_POLL_SECONDS = 2.0  # between two looks at the state of the flow run


def _name_run() -> str:
    folder = Path(flow_run.parameters.get("root", "."))
    return name_run(folder, "HEAD", suite_of(folder) if (folder / PARAMS_YAML).is_file() else None)


@flow(name="benchmark", flow_run_name=_name_run, persist_result=False)
def benchmark(
    root: str = ".",
    jobs: int | None = None,
    keep_going: bool = True,
    only: list[str] | None = None,
    scheduler: str | None = None,
    report: bool = True,
) -> State[Any]:
    """Bring every stale stage up to date, or with `only` those that these cells need, here or on Dask's workers."""
    folder = Path(root).resolve()
    with ExitStack() as stack:
        run = current_run()
        if run is None:
            stack.enter_context(hold_workspace(folder))
            LockBuffer(folder).recover()
            warm = stack.enter_context(open_warm_dvc(folder))
            plan = read_plan(folder, only or (), warm.call, report)
            runner = stack.enter_context(open_runner(folder, plan, jobs, scheduler, warm))
            return flow_state(run_plan(folder, plan, runner, keep_going))
        return flow_state(run_plan(folder, run.plan, run.runner, keep_going, run.started))


def run_plan(root: Path, plan: Plan, runner: Runner, keep_going: bool, started: float | None = None) -> Result:
    """Run a plan in the workspace `root`, which the caller has locked, and show it in the current flow run.

    `started` is when its first stage may have started, by `time.monotonic()`; by default now.
    """
    artifacts = Artifacts(plan, progress_reader(root))
    started = time.monotonic() if started is None else started
    result = _run_stages(root, artifacts, runner, keep_going, started)
    result = add_comparison(root, add_standings(root, result))
    write_result(root, result)
    artifacts.publish(root, result)
    return result


def _run_stages(root: Path, artifacts: Artifacts, runner: Runner, keep_going: bool, started: float) -> Result:
    plan, stop = artifacts.plan, Event()
    outcomes: dict[str, Outcome] = {}
    with ExitStack() as stack:
        numbers, costs = numbers_reader(root), read_costs(root)
        show = stack.enter_context(show_progress(plan, runner.description, artifacts.read, None, numbers, costs))
        stack.enter_context(repeat(REFRESH_SECONDS, artifacts.refresh))
        stack.enter_context(_watch_cancellation(stop))

        def on_event(stage: Stage, outcome: Outcome | None) -> None:
            show(stage, outcome)
            if outcome is not None:
                outcomes[stage.name] = outcome
            artifacts.count(stage, outcome)

        run_stage = _as_task(runner, forced_stages(plan))
        begun = runner.hand_over() if isinstance(runner, HeadStart) else ()
        work = partial(run_queue, plan, runner.capacity, run_stage, keep_going, on_event, stop, begun)
        stopped = _catch_stop(work, stop)
    return conclude(root, plan, outcomes, time.monotonic() - started, stopped)


def _catch_stop(work: Callable[[], object], stop: Event) -> str | None:
    """Do the work and return how it was stopped, or None. Prefect turns SIGTERM into its own exception."""
    try:
        work()
    except KeyboardInterrupt as interrupt:
        return describe_interrupt(interrupt)
    except TerminationSignal:
        return IN_PREFECT if _is_cancelled() else BY_SIGTERM
    return IN_PREFECT if stop.is_set() else None


@contextmanager
def _watch_cancellation(stop: Event) -> Iterator[None]:
    """Set `stop` soon after the current flow run was cancelled."""

    def check() -> None:
        if not stop.is_set() and _is_cancelled():
            stop.set()

    with repeat(_POLL_SECONDS, check):
        yield


def _is_cancelled() -> bool:
    """Whether the current flow run is cancelled or cancelling; False if there is none or no server answers."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return False
    try:
        state = get_client(sync_client=True).read_flow_run(context.flow_run.id).state
    except Exception:  # a dead server, or one that answers nonsense, must not end the run
        return False
    return state is not None and (state.is_cancelling() or state.is_cancelled())


def _as_task(runner: Runner, forced: Container[str]) -> RunStage:
    def run_stage(name: str, stop: Event) -> Outcome:
        outcomes: list[Outcome] = []

        @task(name=name.partition("@")[0], task_run_name=name, cache_policy=NO_CACHE, persist_result=False)
        def run() -> State[Any]:
            outcomes.append(_run(runner, name, stop, name in forced))
            return _stage_state(outcomes[0])

        run(return_state=True)
        return outcomes[0]

    return run_stage


def _run(runner: Runner, name: str, stop: Event, force: bool) -> Outcome:
    """Run a stage; an error outside the stage's own process is its failure too."""
    try:
        return runner.run(name, stop, force)
    except Exception as error:
        return Outcome(FAILED, cause=in_words(error))


def _stage_state(outcome: Outcome) -> State[Any]:
    if outcome.good:
        return Completed(name=outcome.kind.capitalize(), message=f"log: {outcome.log}")
    if outcome.kind == STOPPED:
        return Cancelled(message="stopped with the run")
    return Failed(message=f"see {outcome.log}")


def flow_state(result: Result) -> State[Any]:
    """The state of a flow run. It carries the run's record, after a failure or a stop inside an exception."""
    if result.stopped:
        return Cancelled(message=result.message, data=Unfinished(result))
    if result.exit_code:
        return Failed(message=result.message, data=Unfinished(result))
    return Completed(message=result.message, data=result.record)

"""The Prefect flow `benchmark`: one task run per stage, states that say how each ended.

Prefect records; the ready-queue decides. Prefect's own `wait_for` would block a thread per waiting task.
"""

import time
from collections.abc import Callable, Container
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.exceptions import TerminationSignal
from prefect.states import Cancelled, Completed, Failed

from ebmbench.errors import in_words
from ebmbench.workspace.layout import REPORT
from ebmbench.workspace.locks import hold_workspace
from pipelines.display import every, looking_in, progress
from pipelines.execution.local import Crew, crew
from pipelines.execution.queue import RunStage, drain
from pipelines.execution.signals import BY_SIGTERM, IN_PREFECT, named
from pipelines.flows.artifacts import REFRESH_SECONDS, Artifacts
from pipelines.flows.cancellation import heeding_cancellation, is_cancelled
from pipelines.flows.publish import attach
from pipelines.outcome import FAILED, STOPPED, Outcome, Result, Unfinished, conclude, write_result
from pipelines.planning.plan import Plan, Stage, planned, read_plan


@flow(name="benchmark", persist_result=False)
def benchmark(
    root: str = ".",
    jobs: int | None = None,
    keep_going: bool = True,
    only: list[str] | None = None,
    scheduler: str | None = None,
) -> State[Any]:
    """Bring every stale stage, or with `only` those that these cells need, up to date, here or on Dask's workers."""
    folder = Path(root).resolve()
    with ExitStack() as stack:
        plan = planned()
        if plan is None:
            stack.enter_context(hold_workspace(folder))
            plan = read_plan(folder, only or ())
        with crew(folder, plan, jobs, scheduler) as hands:
            return flow_state(carry_out(folder, plan, hands, keep_going))


def carry_out(root: Path, plan: Plan, hands: Crew, keep_going: bool) -> Result:
    """Run what the plan says in the workspace `root`, which the caller holds, and show it in the flow run at hand."""
    artifacts = Artifacts(plan, looking_in(root))
    result = attach(root, _carry_out(root, artifacts, hands, keep_going))
    write_result(root, result)
    artifacts.publish(root, result)
    return result


def _carry_out(root: Path, artifacts: Artifacts, hands: Crew, keep_going: bool) -> Result:
    start, plan, stop = time.monotonic(), artifacts.plan, Event()
    settled: dict[str, Outcome] = {}
    with ExitStack() as stack:
        show = stack.enter_context(progress(plan, hands.told, artifacts.look))
        stack.enter_context(every(REFRESH_SECONDS, artifacts.refresh))
        stack.enter_context(heeding_cancellation(stop))

        def on_event(stage: Stage, outcome: Outcome | None) -> None:
            show(stage, outcome)
            if outcome is not None:
                settled[stage.name] = outcome
            artifacts.see(stage, outcome)

        # What the report shows of failures, before and after they are mended, is in no file that DVC compares.
        forced = {REPORT, *(stage.name for stage in plan.todo if stage.force)}
        run_stage = _as_task(hands, forced)
        stopped = _stopped(lambda: drain(plan, hands.room, run_stage, keep_going, on_event, stop), stop)
    return conclude(root, plan, settled, time.monotonic() - start, stopped)


def _stopped(work: Callable[[], object], stop: Event) -> str | None:
    """Do the work; how it was stopped, or None. Prefect's own SIGTERM, to a flow that it started, ends here."""
    try:
        work()
    except KeyboardInterrupt as interrupt:
        return named(interrupt)
    except TerminationSignal:
        return IN_PREFECT if is_cancelled() else BY_SIGTERM
    return IN_PREFECT if stop.is_set() else None


def _as_task(hands: Crew, forced: Container[str]) -> RunStage:
    def run_stage(name: str, stop: Event) -> Outcome:
        outcomes: list[Outcome] = []

        @task(name=name.partition("@")[0], task_run_name=name, cache_policy=NO_CACHE, persist_result=False)
        def run() -> State[Any]:
            outcomes.append(_run(hands, name, stop, name in forced))
            return _stage_state(outcomes[0])

        run(return_state=True)
        return outcomes[0]

    return run_stage


def _run(hands: Crew, name: str, stop: Event, force: bool) -> Outcome:
    """Whatever goes wrong around a stage is its failure, with the reason."""
    try:
        return hands.run(name, stop, force)
    except Exception as error:
        return Outcome(FAILED, cause=in_words(error))


def _stage_state(outcome: Outcome) -> State[Any]:
    if outcome.good:
        return Completed(name=outcome.kind.capitalize(), message=f"log: {outcome.log}")
    if outcome.kind == STOPPED:
        return Cancelled(message="stopped with the run")
    return Failed(message=f"see {outcome.log}")


def flow_state(result: Result) -> State[Any]:
    """The state carries the run's record; where it did not end well, in the error that asking for its result raises."""
    if result.stopped:
        return Cancelled(message=result.message, data=Unfinished(result))
    if result.exit_code:
        return Failed(message=result.message, data=Unfinished(result))
    return Completed(message=result.message, data=result.record)

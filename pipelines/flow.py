"""The Prefect flow `benchmark`: one task run per stage, states that say how each ended.

Prefect records; the ready-queue decides. Prefect's own `wait_for` would block a thread per waiting task.
"""

import time
from contextlib import ExitStack
from contextvars import ContextVar
from pathlib import Path
from threading import Event
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed, Failed

from pipelines.artifacts import Artifacts
from pipelines.comparison import attach
from pipelines.conclusion import conclude
from pipelines.crew import Crew, crew
from pipelines.lock import only_flow
from pipelines.outcome import EXIT_STOPPED, STOPPED, Outcome, Result, write_result
from pipelines.plan import Plan, Stage, read_plan
from pipelines.progress import progress
from pipelines.ready import RunStage, drain

# Set by a caller that has planned already and holds the lock; a flow started by a schedule does both itself.
PLANNED: ContextVar[Plan | None] = ContextVar("PLANNED", default=None)


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
        plan = PLANNED.get()
        if plan is None:
            stack.enter_context(only_flow(folder))
            plan = read_plan(folder, only or ())
        with crew(folder, plan, jobs, scheduler) as hands:
            return flow_state(carry_out(folder, plan, hands, keep_going))


def carry_out(root: Path, plan: Plan, hands: Crew, keep_going: bool) -> Result:
    """Run what the plan says in the workspace `root`, which the caller holds, and show it in the flow run at hand."""
    artifacts = Artifacts(plan)
    result = attach(root, _carry_out(root, artifacts, hands, keep_going))
    write_result(root, result)
    artifacts.publish(root, result)
    return result


def _carry_out(root: Path, artifacts: Artifacts, hands: Crew, keep_going: bool) -> Result:
    start, plan = time.monotonic(), artifacts.plan
    settled: dict[str, Outcome] = {}
    stopped = False
    with progress(plan, hands.told) as show:

        def on_event(stage: Stage, outcome: Outcome | None) -> None:
            show(stage, outcome)
            if outcome is not None:
                settled[stage.name] = outcome
                artifacts.move(len(settled))

        try:
            drain(plan, hands.room, _as_task(hands), keep_going, on_event)
        except KeyboardInterrupt:
            stopped = True
    return conclude(root, plan, settled, time.monotonic() - start, stopped)


def _as_task(hands: Crew) -> RunStage:
    def run_stage(name: str, stop: Event) -> Outcome:
        outcomes: list[Outcome] = []

        @task(name=name.partition("@")[0], task_run_name=name, cache_policy=NO_CACHE, persist_result=False)
        def run() -> State[Any]:
            outcomes.append(hands.run(name, stop))
            return _stage_state(outcomes[0])

        run(return_state=True)
        return outcomes[0]

    return run_stage


def _stage_state(outcome: Outcome) -> State[Any]:
    if outcome.good:
        return Completed(name=outcome.kind.capitalize(), message=f"log: {outcome.log}")
    if outcome.kind == STOPPED:
        return Cancelled(message="stopped by the user")
    return Failed(message=f"see {outcome.log}")


def flow_state(result: Result) -> State[Any]:
    """How Prefect is to show the whole run."""
    if result.exit_code == EXIT_STOPPED:
        return Cancelled(message=result.message)
    return Failed(message=result.message) if result.exit_code else Completed(message=result.message)

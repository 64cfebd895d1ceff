"""The queue of stages: a stage starts when its upstreams have ended and there is capacity for it.

Of the ready stages the one with the longest path after it starts first. A failed stage blocks those that follow from
it and no others; only `report` runs all the same, because it shows failures. The queue knows neither DVC nor Prefect:
`run_stage` does the work, in a thread, until it is done or `stop` is set. The capacity is read again all the time,
because workers come and go.
"""

import contextvars
import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from threading import Event

from ebmbench.workspace.layout import REPORT
from pipelines.outcome import BLOCKED, FAILED, Outcome
from pipelines.planning.plan import Plan, Stage
from pipelines.planning.resources import Capacity

RunStage = Callable[[str, Event], Outcome]
OnEvent = Callable[[Stage, Outcome | None], None]  # None: the stage starts; an outcome: it has ended

_POLL_SECONDS = 1.0  # until the capacity is read again


def run_queue(
    plan: Plan,
    capacity: int | Callable[[], Capacity],
    run_stage: RunStage,
    keep_going: bool = True,
    on_event: OnEvent = lambda stage, outcome: None,
    stop: Event | None = None,
    started: Collection[str] = (),
) -> dict[str, Outcome]:
    """Run all stale stages, as many at a time as the capacity allows.

    `started` are stages that run or have run already, each after its upstreams: they come first, whatever the capacity.
    Setting `stop` stops the running stages, and no other starts. An interrupt does the same and is raised again.
    """
    read_capacity = capacity if callable(capacity) else lambda: Capacity(capacity)
    queue = _Queue(plan.todo, keep_going, on_event, set(started))
    stop = stop or Event()
    with ThreadPoolExecutor(max_workers=max(1, len(plan.todo))) as pool:
        try:
            while queue.is_active() and not stop.is_set():
                for stage in queue.take(read_capacity()):
                    # A fresh copy of the context: in it Prefect finds the flow run that a task belongs to.
                    context = contextvars.copy_context()
                    queue.start(stage, pool.submit(context.run, run_stage, stage.name, stop))
                queue.settle()
        except BaseException:
            stop.set()
            raise
        finally:
            while queue.running:
                queue.settle()
    return queue.outcomes


@dataclass
class _Queue:
    todo: tuple[Stage, ...]
    keep_going: bool
    on_event: OnEvent
    started: set[str]
    ready: list[Stage] = field(default_factory=list)
    running: dict[Future[Outcome], Stage] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stages = {stage.name: stage for stage in self.todo}
        self.path_lengths = _path_lengths(self.todo)
        self.sorter = TopologicalSorter({stage.name: stage.upstreams for stage in self.todo})
        self.sorter.prepare()

    def is_active(self) -> bool:
        return self.sorter.is_active()

    def take(self, capacity: Capacity) -> list[Stage]:
        """Remove the stages to start now from `ready`; block those that can no longer run."""
        self._update_ready()
        if self.started:
            taken = [stage for stage in self.ready if stage.name in self.started]
            self.started -= {stage.name for stage in taken}
            self.ready = [stage for stage in self.ready if stage not in taken]
            return taken
        taken = []
        for stage in sorted(self.ready, key=lambda stage: -self.path_lengths[stage.name]):
            beside = [*self.running.values(), *taken]
            if capacity.fits(stage.gpus, (other.gpus for other in beside)):
                taken.append(stage)
        self.ready = [stage for stage in self.ready if stage not in taken]
        return taken

    def _update_ready(self) -> None:
        while True:
            self.ready += [self.stages[name] for name in self.sorter.get_ready()]
            waiting = [stage for stage in self.ready if stage.name not in self.started]
            blocked = {stage.name: cause for stage in waiting if (cause := self._blocked_by(stage))}
            if not blocked:
                return
            self.ready = [stage for stage in self.ready if stage.name not in blocked]
            for name, cause in blocked.items():
                self._record(self.stages[name], Outcome(BLOCKED, cause=cause))

    def _blocked_by(self, stage: Stage) -> str | None:
        if not self.keep_going:
            return next((name for name, outcome in self.outcomes.items() if outcome.kind == FAILED), None)
        if stage.name == REPORT:
            return None
        bad = [(up, self.outcomes[up]) for up in stage.upstreams if not self.outcomes[up].good]
        return next((outcome.cause if outcome.kind == BLOCKED else up for up, outcome in bad), None)

    def start(self, stage: Stage, future: Future[Outcome]) -> None:
        self.running[future] = stage
        self.on_event(stage, None)

    def settle(self) -> None:
        """Record the running stages that have ended; wait a moment for the first."""
        if not self.running and self.ready:  # no capacity for any: workers may come
            time.sleep(_POLL_SECONDS)
        for future in wait(self.running, _POLL_SECONDS, FIRST_COMPLETED).done:
            self._record(self.running.pop(future), _outcome(future))

    def _record(self, stage: Stage, outcome: Outcome) -> None:
        self.outcomes[stage.name] = outcome
        self.sorter.done(stage.name)
        self.on_event(stage, outcome)


def _outcome(future: Future[Outcome]) -> Outcome:
    error = future.exception()
    return future.result() if error is None else Outcome(FAILED, cause=f"{type(error).__name__}: {error}")


def _path_lengths(todo: tuple[Stage, ...]) -> dict[str, int]:
    """The number of stages on the longest path from each stage to the end."""
    lengths = {stage.name: 1 for stage in todo}
    for stage in reversed(todo):
        for up in stage.upstreams:
            lengths[up] = max(lengths[up], lengths[stage.name] + 1)
    return lengths

"""The ready-queue: a stage starts when its upstreams are done and a slot is free.

Among the ready stages the one with the longest path still before it goes first. A stage that fails blocks
what follows from it and nothing else; only `report` runs all the same, since a failure is something to
report. This file knows nothing of DVC or Prefect: `run_stage` does the work, in a thread, until it is done or
`stop` is set. How much may run at once is asked again and again, for machines may come and go.
"""

import contextvars
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event

from ebmbench.workspace.layout import REPORT
from pipelines.outcome import BLOCKED, FAILED, Outcome
from pipelines.planning.plan import Plan, Stage
from pipelines.planning.resources import Room

RunStage = Callable[[str, Event], Outcome]
Rooms = Callable[[], Room]
OnEvent = Callable[[Stage, Outcome | None], None]  # None: the stage starts; an outcome: it has settled

_LOOK_SECONDS = 1.0  # until the room is looked at again


def drain(
    plan: Plan,
    room: int | Rooms,
    run_stage: RunStage,
    keep_going: bool = True,
    on_event: OnEvent | None = None,
    stop: Event | None = None,
) -> dict[str, Outcome]:
    """Run all that is to do, as much at a time as there is room.

    Whoever sets `stop` stops what runs, and nothing more starts; an interrupt does so too and is raised again.
    """
    rooms = room if callable(room) else lambda: Room(room)
    queue = _Queue(plan.todo, keep_going, on_event or _ignore)
    stop = stop or Event()
    with ThreadPoolExecutor(max_workers=max(1, len(plan.todo))) as pool:
        try:
            while (queue.waiting or queue.running) and not stop.is_set():
                queue.block()
                for stage in queue.ready(rooms()):
                    # A fresh copy of the context: Prefect finds there the flow run that a task belongs to.
                    context = contextvars.copy_context()
                    queue.start(stage, pool.submit(context.run, run_stage, stage.name, stop))
                queue.settle()
            queue.abandon()
        except BaseException:
            stop.set()
            queue.abandon()
            raise
    return queue.outcomes


def _ignore(stage: Stage, outcome: Outcome | None) -> None:
    pass


@dataclass
class _Queue:
    todo: tuple[Stage, ...]
    keep_going: bool
    on_event: OnEvent
    running: dict[Future[Outcome], Stage] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = {stage.name: stage for stage in self.todo}
        self.depth = _depths(self.todo)

    def ready(self, room: Room) -> list[Stage]:
        settled = self.outcomes.keys()
        free = [stage for stage in self.waiting.values() if settled >= set(stage.upstreams)]
        chosen: list[Stage] = []
        for stage in sorted(free, key=lambda stage: -self.depth[stage.name]):
            beside = [*self.running.values(), *chosen]
            if room.admits(stage.gpus, (other.gpus for other in beside)):
                chosen.append(stage)
        return chosen

    def start(self, stage: Stage, future: Future[Outcome]) -> None:
        del self.waiting[stage.name]
        self.running[future] = stage
        self.on_event(stage, None)

    def settle(self) -> None:
        """Wait until a running stage is done, or for a moment."""
        if not self.running:  # no room for any: machines may come
            time.sleep(_LOOK_SECONDS if self.waiting else 0)
        for future in wait(self.running, _LOOK_SECONDS, FIRST_COMPLETED).done:
            self._record(self.running.pop(future), _outcome(future))

    def block(self) -> None:
        """Give up what can no longer run. Upstreams come first in the plan, so one pass is enough."""
        for stage in list(self.waiting.values()):
            if cause := self._cause(stage):
                del self.waiting[stage.name]
                self._record(stage, Outcome(BLOCKED, cause=cause))

    def abandon(self) -> None:
        """Record how the stages that were told to stop have ended."""
        while self.running:
            self.settle()

    def _cause(self, stage: Stage) -> str | None:
        failed = [name for name, outcome in self.outcomes.items() if outcome.kind == FAILED]
        if not self.keep_going:
            return failed[0] if failed else None
        if stage.name == REPORT:
            return None
        for up in stage.upstreams:
            outcome = self.outcomes.get(up)
            if outcome is not None and not outcome.good:
                return outcome.cause if outcome.kind == BLOCKED else up
        return None

    def _record(self, stage: Stage, outcome: Outcome) -> None:
        self.outcomes[stage.name] = outcome
        self.on_event(stage, outcome)


def _outcome(future: Future[Outcome]) -> Outcome:
    error = future.exception()
    return future.result() if error is None else Outcome(FAILED, cause=f"{type(error).__name__}: {error}")


def _depths(todo: tuple[Stage, ...]) -> dict[str, int]:
    depth = {stage.name: 1 for stage in todo}
    for stage in reversed(todo):
        for up in stage.upstreams:
            depth[up] = max(depth[up], depth[stage.name] + 1)
    return depth

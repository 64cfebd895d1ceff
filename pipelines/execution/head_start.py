"""Start the first stages while Prefect is starting, which takes ten seconds or more.

There is no flow yet that could record them. When there is one, `HeadStart` hands the stages over: as a runner, it gives
the outcomes of those that it has started, and runs the others.
"""

from collections.abc import Container, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Lock, Thread

from ebmbench.workspace.layout import REPORT
from pipelines.execution.local import Runner
from pipelines.execution.queue import run_queue
from pipelines.outcome import STOPPED, Outcome
from pipelines.planning.plan import Plan
from pipelines.planning.resources import Capacity

_POLL_SECONDS = 0.1


class HeadStart:
    """A runner that may have started some stages already."""

    def __init__(self, runner: Runner, plan: Plan, keep_going: bool) -> None:
        self.runner, self.plan = runner, plan
        self._started: dict[str, Future[Outcome]] = {}
        self._lock, self._stop, self._handed_over = Lock(), Event(), Event()
        arguments = (plan, runner.capacity, self._begin, keep_going)
        self._thread = Thread(target=run_queue, args=arguments, kwargs={"stop": self._handed_over})
        self._thread.start()

    @property
    def description(self) -> str:
        """How many at a time, or where."""
        return self.runner.description

    def capacity(self) -> Capacity:
        """How much may run at once, now."""
        return self.runner.capacity()

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        """The outcome of a stage, whoever has started it."""
        self.hand_over()
        future = self._started.get(stage)
        if future is None:
            return self.runner.run(stage, stop, force)
        while not wait([future], _POLL_SECONDS).done:
            if stop.is_set():
                self._stop.set()
        return future.result()

    def hand_over(self) -> list[str]:
        """Start no more stages, and let those that run go on; returns the names of all that have started."""
        with self._lock:
            self._handed_over.set()
            return list(self._started)

    def close(self) -> None:
        """Stop what still runs: nobody waits for it."""
        self.hand_over()
        self._stop.set()
        self._thread.join()

    def _begin(self, stage: str, _: Event) -> Outcome:
        with self._lock:
            if self._handed_over.is_set():
                return Outcome(STOPPED)
            future = self._started[stage] = Future()
        try:
            future.set_result(self.runner.run(stage, self._stop, stage in forced_stages(self.plan)))
        except Exception as error:
            future.set_exception(error)
        return future.result()


def forced_stages(plan: Plan) -> Container[str]:
    """The stages that run whatever DVC says."""
    # Always the report: a failure that left no note changes nothing that DVC sees of it.
    return {REPORT, *(stage.name for stage in plan.todo if stage.force)}


@dataclass(frozen=True)
class Run:
    """A plan, who runs it, and since when (by `time.monotonic()`)."""

    plan: Plan
    runner: Runner
    started: float


# Not in flows/: Prefect pickles a served flow with the globals that it uses, and a context variable has no pickle.
_CURRENT: ContextVar[Run | None] = ContextVar("CURRENT_RUN", default=None)


def current_run() -> Run | None:
    """The run of a caller that has locked the workspace; None in a flow that was started by a schedule."""
    return _CURRENT.get()


@contextmanager
def use_run(run: Run) -> Iterator[None]:
    """Give this run to a flow that is called in the block."""
    token = _CURRENT.set(run)
    try:
        yield
    finally:
        _CURRENT.reset(token)

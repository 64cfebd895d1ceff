"""Stages that start before there is a flow: each runs once, and the flow gets its outcome."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Timer

import pytest

from pipelines.execution.head_start import HeadStart, forced_stages
from pipelines.execution.queue import run_queue
from pipelines.outcome import RAN, STOPPED, Outcome
from pipelines.planning.plan import Plan, make_plan
from pipelines.planning.resources import Capacity

NAMES = ["a", "b", "c", "report"]
PLAN = make_plan({"a": [], "b": ["a"], "c": [], "report": ["b", "c"]}, dict.fromkeys(NAMES, "new"))


class Runner:
    """Runs a stage until it is allowed to end; remembers what was run, and with which options."""

    description = "two at a time"

    def __init__(self, ending: set[str]) -> None:
        self.ending, self.ran, self.forced = ending, list[str](), set[str]()
        self.running = self.most = 0
        self._lock = Lock()

    def capacity(self) -> Capacity:
        return Capacity(2)

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        with self._lock:
            self.ran.append(stage)
            self.forced |= {stage} if force else set()
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            return self._run(stage, stop)
        finally:
            with self._lock:
                self.running -= 1

    def _run(self, stage: str, stop: Event) -> Outcome:
        if stage == "broken":
            raise OSError("no disk")
        while stage not in self.ending:
            if stop.wait(0.01):
                return Outcome(STOPPED)
        return Outcome(RAN)


@contextmanager
def starting(runner: Runner, plan: Plan = PLAN) -> Iterator[HeadStart]:
    head = HeadStart(runner, plan, keep_going=True)
    try:
        yield head
    finally:
        head.close()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_every_stage_runs_once_whenever_the_flow_takes_over() -> None:
    for early in ([], ["a"], ["a", "c"], ["a", "b", "c", "report"]):
        runner = Runner(set(early))
        with starting(runner) as head:
            wait_until(lambda runner=runner, early=early: set(runner.ran) >= set(early))  # type: ignore[misc]
            started = head.hand_over()
            runner.ending |= set(NAMES)
            outcomes = run_queue(
                PLAN,
                head.capacity,
                lambda name, stop, head=head: head.run(name, stop, name == "report"),
                started=started,
            )
        assert {name: outcome.kind for name, outcome in outcomes.items()} == dict.fromkeys(NAMES, RAN)
        assert sorted(runner.ran) == NAMES
        assert runner.forced == {"report"}


@pytest.mark.parametrize("keep_going", [True, False])
def test_the_flow_never_runs_more_at_once_than_there_is_capacity_for(keep_going: bool) -> None:
    names = [f"{kind}{number}" for number in range(4) for kind in "ab"]
    graph = {name: [name.replace("b", "a")] if name[0] == "b" else [] for name in names}
    plan = make_plan(graph, dict.fromkeys(names, "new"))
    for early in range(1, 5):
        runner = Runner({f"a{number}" for number in range(early)})
        with starting(runner, plan) as head:
            wait_until(lambda runner=runner, early=early: len(runner.ran) >= early + 1)  # type: ignore[misc]
            started = head.hand_over()
            timer = Timer(0.2, lambda runner=runner: runner.ending.update(names))  # type: ignore[misc]
            timer.start()
            outcomes = run_queue(plan, head.capacity, head.run, keep_going, started=started)
        assert runner.most == 2
        assert sorted(runner.ran) == sorted(names)
        assert {outcome.kind for outcome in outcomes.values()} == {RAN}


def test_nothing_starts_after_the_flow_has_taken_over() -> None:
    runner = Runner(set())
    with starting(runner) as head:
        wait_until(lambda: len(runner.ran) == 2)
        head.hand_over()
        runner.ending |= {"a", "c"}
        assert head.run("a", Event()).kind == RAN
        time.sleep(0.1)
        assert sorted(runner.ran) == ["a", "c"]


def test_stopping_the_flow_stops_what_had_started_before_it() -> None:
    runner, stop = Runner(set()), Event()
    with starting(runner) as head:
        wait_until(lambda: len(runner.ran) == 2)
        stop.set()
        assert head.run("a", stop).kind == STOPPED


def test_if_there_is_never_a_flow_everything_is_stopped() -> None:
    runner = Runner(set())
    with starting(runner):
        wait_until(lambda: len(runner.ran) == 2)
    assert runner.running == 0


def test_an_error_outside_the_stage_reaches_the_flow() -> None:
    plan = make_plan({"broken": []}, {"broken": "new"})
    runner = Runner(set())
    with starting(runner, plan) as head:
        wait_until(lambda: runner.ran == ["broken"])
        with pytest.raises(OSError, match="no disk"):
            head.run("broken", Event())
    assert "report" in forced_stages(plan)

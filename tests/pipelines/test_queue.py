"""The queue of stages, without DVC and without Prefect."""

import threading
from collections.abc import Mapping
from threading import Event

import pytest

from pipelines.execution.queue import run_queue
from pipelines.outcome import BLOCKED, FAILED, RAN, STOPPED, Outcome
from pipelines.planning.plan import Plan, Stage, make_plan

GRAPH = {
    "prepare": [],
    "train@a": ["prepare"],
    "train@b": ["prepare"],
    "evaluate@a": ["train@a"],
    "evaluate@b": ["train@b"],
    "report": ["evaluate@a", "evaluate@b"],
}


def all_stale(graph: Mapping[str, list[str]] = GRAPH) -> Plan:
    return make_plan(dict(graph), dict.fromkeys(graph, "never run"))


def test_a_stage_starts_only_after_its_upstreams_have_ended() -> None:
    events: list[tuple[str, str]] = []

    def on_event(stage: Stage, outcome: Outcome | None) -> None:
        events.append(("start" if outcome is None else "end", stage.name))

    run_queue(all_stale(), 3, lambda name, stop: Outcome(RAN), on_event=on_event)
    for stage, upstreams in GRAPH.items():
        for up in upstreams:
            assert events.index(("end", up)) < events.index(("start", stage))
    assert len(events) == 2 * len(GRAPH)


def test_as_many_run_at_once_as_there_are_jobs_and_never_more() -> None:
    together = threading.Barrier(2)  # breaks unless two stages are inside at the same time
    running, most, guard = 0, 0, threading.Lock()

    def run_stage(name: str, stop: Event) -> Outcome:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        together.wait(timeout=10)
        with guard:
            running -= 1
        return Outcome(RAN)

    outcomes = run_queue(all_stale({f"stage{n}": [] for n in range(6)}), 2, run_stage)
    assert most == 2
    assert {outcome.kind for outcome in outcomes.values()} == {RAN}


def test_the_longest_remaining_path_goes_first() -> None:
    order: list[str] = []

    def run_stage(name: str, stop: Event) -> Outcome:
        order.append(name)
        return Outcome(RAN)

    run_queue(all_stale({"short": [], "long": [], "middle": ["long"], "last": ["middle"]}), 1, run_stage)
    assert order[:2] == ["long", "middle"]


def test_a_failure_blocks_what_follows_from_it_and_nothing_else_and_the_report_still_runs() -> None:
    outcomes = run_queue(all_stale(), 2, lambda name, stop: Outcome(FAILED if name == "train@a" else RAN))
    assert {name: outcome.kind for name, outcome in outcomes.items()} == {
        **dict.fromkeys(GRAPH, RAN),
        "train@a": FAILED,
        "evaluate@a": BLOCKED,
    }
    assert outcomes["evaluate@a"].cause == "train@a"


def test_a_blocked_stage_names_the_first_cause_however_far_up() -> None:
    outcomes = run_queue(all_stale(), 2, lambda name, stop: Outcome(FAILED if name == "prepare" else RAN))
    assert outcomes["evaluate@b"] == Outcome(BLOCKED, cause="prepare")
    assert outcomes["report"].kind == RAN


def test_without_keep_going_nothing_starts_after_a_failure() -> None:
    outcomes = run_queue(all_stale(), 1, lambda name, stop: Outcome(FAILED), keep_going=False)
    assert [name for name, outcome in outcomes.items() if outcome.kind == FAILED] == ["prepare"]
    assert outcomes["report"] == Outcome(BLOCKED, cause="prepare")


def test_an_error_in_the_runner_is_a_failure_of_its_stage() -> None:
    def run_stage(name: str, stop: Event) -> Outcome:
        if name == "train@b":
            raise ValueError("no room")
        return Outcome(RAN)

    outcomes = run_queue(all_stale(), 2, run_stage)
    assert outcomes["train@b"] == Outcome(FAILED, cause="ValueError: no room")
    assert outcomes["evaluate@a"].kind == RAN


def test_an_interrupt_stops_what_runs_and_starts_nothing_new() -> None:
    settled: dict[str, Outcome] = {}

    def run_stage(name: str, stop: Event) -> Outcome:
        return Outcome(STOPPED) if stop.wait(timeout=60) else Outcome(RAN)

    def on_event(stage: Stage, outcome: Outcome | None) -> None:
        if outcome is not None:
            settled[stage.name] = outcome
        elif stage.name == "two":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_queue(all_stale({"one": [], "two": [], "three": ["one"]}), 2, run_stage, on_event=on_event)
    assert settled == {"one": Outcome(STOPPED), "two": Outcome(STOPPED)}


def test_setting_the_event_stops_what_runs_and_nothing_more_starts() -> None:
    stop, started = Event(), []

    def run_stage(name: str, event: Event) -> Outcome:
        started.append(name)
        if name == "prepare":
            return Outcome(RAN)
        stop.set()
        return Outcome(STOPPED) if event.wait(10) else Outcome(FAILED)

    outcomes = run_queue(all_stale(), 1, run_stage, stop=stop)
    assert len(started) == 2
    assert {name: outcome.kind for name, outcome in outcomes.items()} == {"prepare": RAN, started[1]: STOPPED}

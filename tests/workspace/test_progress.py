"""What a stage tells of its progress, and that telling it costs nothing and changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from ebmbench.workspace import progress as module
from ebmbench.workspace.progress import Progress


class Clock:
    """Seconds that pass when the test says so."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1000.0 + self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def told(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_the_runs_of_a_stage_are_counted_and_the_rest_is_estimated_from_the_longest(
    tmp_path: Path, clock: Clock
) -> None:
    path, seen = tmp_path / "pulse.json", []
    for seconds in Progress(str(path)).each([10.0, 0.0, 5.0]):
        seen.append(told(path))
        clock.now += seconds
    assert [(one["run"], one["runs"]) for one in seen] == [(1, 3), (2, 3), (3, 3)]
    assert [one["ends"] for one in seen] == [None, 1000.0 + 10 + 20, 1000.0 + 10 + 10]


def test_a_run_that_was_found_says_nothing_about_the_next(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "pulse.json"
    for _ in Progress(str(path)).each(["found", "made"]):
        clock.now += 0.1
    assert told(path)["ends"] is None


def test_steps_are_told_about_once_a_second_with_what_is_left_of_all_runs(tmp_path: Path, clock: Clock) -> None:
    path, written = tmp_path / "pulse.json", set()
    progress = Progress(str(path))
    for run in progress.each(["one", "two"]):
        for step in range(100):
            clock.now += 0.1
            progress.update(step / 100, step)
            written.add((run, path.read_text(encoding="utf-8")))
            if (run, step) == ("one", 60):
                assert told(path)["share"] == pytest.approx(0.6, abs=0.1)
                assert told(path)["ends"] - clock.time() == pytest.approx(4 + 10, abs=1)
    assert len(written) == pytest.approx(22, abs=2)


def test_parts_of_a_run_are_told_without_a_time_until_a_run_has_ended_and_never_go_back(
    tmp_path: Path, clock: Clock
) -> None:
    path, seen = tmp_path / "pulse.json", []
    progress = Progress(str(path))
    for _ in progress.each(["one", "two"]):
        for _ in progress.parts("abcd"):
            seen.append((told(path)["share"], told(path)["ends"]))
            clock.now += 5.0
        assert [told(path)["share"] for _ in progress.parts("ab")] == [0.75, 0.75]
    assert seen[:4] == [(None, None), (0.25, None), (0.5, None), (0.75, None)]
    assert seen[4:] == [(None, 1040.0), (0.25, 1040.0), (0.5, 1040.0), (0.75, 1040.0)]


def test_a_resumed_run_is_judged_by_what_it_did_since(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "pulse.json"
    progress = Progress(str(path))
    for step in range(80, 91):
        clock.now += 1.0
        progress.update(step / 100, step)
    assert told(path)["ends"] - clock.time() == pytest.approx(10, abs=0.5)


def test_nothing_is_written_where_nobody_asked_and_nothing_breaks_where_it_cannot_be(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (None, str(tmp_path / "missing" / "pulse.json")):
        progress = Progress(path)
        for _ in progress.each([1, 2]):
            clock.now += 5.0
            progress.update(0.5, 10)
    assert list(tmp_path.iterdir()) == []

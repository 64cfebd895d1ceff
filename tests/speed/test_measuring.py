"""The arithmetic of the speed benchmark: turns, rounds, ratios and tables. No time is asserted anywhere."""

import math
from pathlib import Path

import pytest
from torch import nn

from benchmarks.speed import command
from benchmarks.speed.race import BLOCK, GOAL, Race, RaceResult, render_races
from benchmarks.speed.table import format_time, render_times
from benchmarks.speed.timing import LEAST, find_units, ratio, rotate, spread, time_in_turns
from ebmbench.training.trainer import Diverged


class Clock:
    """Stands still unless somebody works."""

    def __init__(self) -> None:
        self.now, self.order = 0.0, ""

    def __call__(self) -> float:
        return self.now

    def worker(self, name: str, seconds: float):
        def work(units: int) -> None:
            self.now += units * seconds
            self.order += name

        return work


def test_everybody_has_every_turn_equally_often() -> None:
    orders = [rotate("abc", number) for number in range(6)]
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)
    assert all(sorted(order[turn] for order in orders) == list("aabbcc") for turn in range(3))


def test_a_measurement_takes_long_enough_and_counts_per_unit() -> None:
    clock = Clock()
    works = {"a": clock.worker("a", 1e-4), "b": clock.worker("b", 1.0)}
    assert find_units(works["a"], clock) * 1e-4 >= LEAST
    assert find_units(works["b"], clock) == 1
    clock.order = ""
    found = time_in_turns(works, 3, clock)
    assert found == {"a": pytest.approx([1e-4] * 3), "b": pytest.approx([1.0] * 3)}
    assert clock.order.endswith("abbaab")


def test_a_drift_that_slows_everybody_leaves_the_ratio_alone() -> None:
    drift = [1.0, 3.0, 2.0, 10.0]
    assert ratio([2 * d for d in drift], drift) == (2.0, 2.0, 2.0)
    assert spread([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)
    assert spread([7.0]) == (7.0, 7.0, 7.0)


def test_a_table_says_who_has_no_such_thing() -> None:
    times = {"ebmbench": [1e-3, 1e-3], "bare": [2e-3, 2e-3], "b": [3e-3, 5e-3]}
    names = ["ebmbench", "bare", "a", "b"]
    text = render_times({("row", "step"): times}, names)
    last = text.splitlines()[-1]
    seconds = "1 ms (1–1) | 2 ms (2–2) | – | 4 ms (3.5–4.5)"
    assert last == f"| row | step | {seconds} | **0.50** (0.50–0.50) | – | **4.00** (3.50–4.50) |"
    assert len({line.count("|") for line in text.splitlines()}) == 1
    assert format_time(spread([2e-6])) == "2 µs (2–2)"
    assert format_time(spread([2.0])) == "2 s (2–2)"


class Pupil:
    """Learns by a plan: KL by steps, or a divergence where the plan ends."""

    done = False

    def __init__(self, clock: Clock, plan: dict[int, float]) -> None:
        self.clock, self.plan, self.steps = clock, plan, 0

    def advance(self, steps: int) -> None:
        self.steps += steps
        self.clock.now += 0.1
        if self.steps > max(self.plan):
            raise Diverged("planned")

    def networks(self) -> list[nn.Module]:
        return [nn.Identity()]

    def judge(self, network: nn.Module) -> float:
        return next(value for steps, value in self.plan.items() if self.steps <= steps)


@pytest.mark.parametrize(
    ("plan", "end"),
    [
        ({20 * BLOCK: 1.0, 10**6: GOAL}, ""),
        ({10**6: 1.0}, "not within 3 s (KL 1)"),
        ({10**6: math.inf}, "not within 3 s"),
        ({10**6: math.nan}, "diverged by 1 s"),
        ({20 * BLOCK: 1.0}, "diverged at 2 s"),
    ],
)
def test_a_race_ends_at_the_goal_the_limit_or_divergence(plan: dict[int, float], end: str) -> None:
    clock = Clock()
    pupil = Pupil(clock, plan)
    race = Race(pupil, 3.0, pupil.judge, clock)
    while race.ended is None:
        race.advance()
    assert race.ended.end == end.partition(" (")[0]
    assert not end or str(race.ended) == end
    assert race.seconds == pytest.approx(0.1 * pupil.steps / BLOCK, abs=0.11)


def test_a_cell_lists_its_seeds() -> None:
    found = {("cd", "a"): [RaceResult(1.25, 100, 0.04), RaceResult(9.0, 900, 0.2, "not within 9 s")], ("cd", "b"): []}
    assert render_races(found).splitlines()[-1] == "| cd | 1.2 s (100 steps); not within 9 s (KL 0.2) | – |"


def test_the_command_writes_the_rows_that_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "speed.md"
    assert command.main(["--rows", "step, nce", "--rounds", "1", "--output", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert "| training step, nce | step |" in text
    assert "commit" in text
    assert "Langevin" not in text

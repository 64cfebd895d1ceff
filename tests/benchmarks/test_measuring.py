"""The arithmetic of the contenders' comparison: turns, rounds, ratios, tables and races. No time is asserted."""

import math

import pytest
from torch import nn

from benchmarks.speed.side_by_side import make_headline, render_times
from benchmarks.speed.time_to_kl import BLOCK, GOAL, Race, RaceResult, render_races
from benchmarks.speed.timing import LEAST, find_units, rotate, time_in_turns
from benchmarks.tables import format_time, ratio, spread
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


def test_a_table_shows_our_time_and_the_others_over_it_and_who_lacks_the_feature() -> None:
    times = {"ebmbench": [1e-3, 1e-3], "bare": [2e-3, 2e-3], "b": [3e-3, 5e-3]}
    text = render_times("Chains", {"row": times}, ["ebmbench", "bare", "a", "b"])
    assert text.splitlines()[0] == "| Chains | ebmbench | bare | a | b |"
    assert text.splitlines()[-1] == "| row | 1 ms | **2.00** (2.00–2.00) | – | **4.00** (3.50–4.50) |"
    assert [format_time(seconds) for seconds in (2e-6, 2.0)] == ["2 µs", "2 s"]
    assert "**2.00** times as long in a loop written by hand and **4.00** times as long in b" in make_headline(
        {"row": times}
    )
    assert make_headline({}) == ""


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
        ({20 * BLOCK: 1.0, 10**6: GOAL}, "**2.1 s** (210 steps)"),
        ({10**6: 1.0}, "no: KL 1 after 3 s"),
        ({10**6: math.inf}, "no: KL inf after 3 s"),
        ({10**6: math.nan}, "diverged after 1 s"),
        ({20 * BLOCK: 1.0}, "diverged after 2 s"),
    ],
)
def test_a_race_ends_at_the_goal_the_limit_or_divergence(plan: dict[int, float], end: str) -> None:
    clock = Clock()
    pupil = Pupil(clock, plan)
    race = Race(pupil, 3.0, pupil.judge, clock)
    while race.result is None:
        race.advance()
    assert str(race.result) == end
    assert race.seconds == pytest.approx(0.1 * pupil.steps / BLOCK, abs=0.11)


def test_every_seed_of_a_race_is_a_line() -> None:
    found = {("cd", 0): {"a": RaceResult(1.25, 100, 0.04)}, ("cd", 1): {"a": RaceResult(9.0, 900, 0.2)}}
    lines = render_races(found, ["a", "b"]).splitlines()[2:]
    assert lines == ["| cd, seed 0 | **1.2 s** (100 steps) | – |", "| cd, seed 1 | no: KL 0.2 after 9 s | – |"]

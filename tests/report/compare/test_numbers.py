"""How a number is said to have moved: by its paired interval, towards or against the metric's direction."""

import pandas as pd
import pytest

from ebmbench.report.compare.changes import Change, classify, compare_numbers, expected_by_chance
from ebmbench.report.results.table import to_frame
from ebmbench.report.statistics.seeds import Summary


def summary(*values: float, direction: str = "lower") -> Summary:
    return Summary(dict(enumerate(values)), len(values), direction)


def frame(method: str, values: list[float | None], samples: str = "", **more: str) -> pd.DataFrame:
    """One metric of one method; None is a run that diverged."""
    place = {"suite": "s", "dataset": "d", "method": method, "metric": "kl", "direction": "lower", "samples": samples}
    return to_frame(
        [
            place
            | {"seed": str(seed), "label": f"seed={seed}", "value": "" if value is None else repr(value)}
            | {"status": "diverged" if value is None else "ok"}
            | more
            for seed, value in enumerate(values)
        ]
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (summary(1.0, 2.0, 3.0), summary(1.0, 2.0, 3.0), Change.EQUAL),
        (summary(1.0, 2.0, 3.0), summary(1.0, 2.0, 3.0 * (1 + 1e-12)), Change.EQUAL),
        (summary(1e-16, 2e-16, 1e-16), summary(3e-16, 6e-16, 3e-16), Change.EQUAL),
        (summary(1.0, 2.0, 3.0), summary(1.1, 2.2, 3.31), Change.WORSE),
        (summary(1.0, 2.0, 3.0), summary(0.9, 1.8, 2.71), Change.BETTER),
        (summary(1.0, 2.0, 3.0), summary(1.3, 1.7, 3.1), Change.WITHIN),
        (summary(-1.0, 2.0, 3.0), summary(-0.5, 2.51, 3.49), Change.WORSE),
        (summary(1.0, 2.0, direction="higher"), summary(1.1, 2.2, direction="higher"), Change.BETTER),
        (summary(1.0, 2.0, direction=""), summary(1.1, 2.2, direction=""), Change.MOVED),
        (summary(1.0), summary(2.0), Change.ONE_SEED),
        (summary(1.0, 2.0), None, Change.GONE),
        (None, summary(1.0, 2.0), Change.NEW),
        (Summary({0: 1.0, 1: 1.0}, 2, "lower"), Summary({7: 9.0, 8: 9.0}, 2, "lower"), Change.NO_COMMON_SEED),
    ],
)
def test_the_word_for_a_change(before: Summary | None, after: Summary | None, expected: Change) -> None:
    assert classify(before, after) is expected


def test_pairing_sees_what_separate_intervals_cannot() -> None:
    """Seeds differ a hundredfold, and every one of them got ten per cent worse."""
    assert classify(summary(0.1, 1.0, 10.0), summary(0.111, 1.1, 11.01)) is Change.WORSE


def test_only_values_of_runs_that_ended_well_are_compared() -> None:
    before, after = frame("mle", [1.0, 2.0, 3.0]), frame("mle", [1.0, 2.0, None])
    (move,) = compare_numbers(before, after)
    assert move.change is Change.EQUAL  # on the two seeds that both have


def test_a_report_that_names_no_kind_of_samples_is_matched_if_there_is_one_kind() -> None:
    old, new = frame("mle", [1.0, 2.0]), frame("mle", [1.0, 2.0], samples="long")
    assert [move.change for move in compare_numbers(old, new)] == [Change.EQUAL]
    two = pd.concat([new, frame("mle", [1.0, 2.0], samples="short")])
    assert sorted(move.change for move in compare_numbers(old, two)) == sorted([Change.NEW, Change.NEW, Change.GONE])


def test_settings_are_told_apart() -> None:
    before = frame("adance", [1.0, 2.0], settings="interval=1")
    after = pd.concat([before, frame("adance", [9.0, 9.0], settings="interval=5")])
    assert {move.key[1]: move.change for move in compare_numbers(before, after)} == {
        "adance interval=1": Change.EQUAL,
        "adance interval=5": Change.NEW,
    }


def test_chance_counts_what_changed_and_can_be_tested() -> None:
    before = pd.concat([frame("mle", [1.0, 2.0, 3.0]), frame("cd", [1.0, 2.0, 3.0]), frame("nce", [1.0])])
    after = pd.concat([frame("mle", [1.0, 2.0, 3.0]), frame("cd", [1.3, 1.7, 3.1]), frame("nce", [2.0])])
    assert expected_by_chance(compare_numbers(before, after)) == pytest.approx(0.05)

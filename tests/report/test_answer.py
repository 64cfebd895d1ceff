"""The answer: no win without a contest, ties named as ties, and every word from the results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ebmbench.report.results.suite import Results, read_report
from ebmbench.report.results.table import to_frame
from ebmbench.report.sections.answer import answer_lines
from ebmbench.report.text.avoidance import describe_what_to_avoid
from tests.report.made import Values, frame_of

CLEAR = {"oracle": [0.0, 0.0, 0.0], "gaussian": [1.0, 1.0, 1.0], "nce": [0.010, 0.011, 0.012]}


def curves_of(of: Mapping[str, Values]) -> pd.DataFrame:
    """Two moments of each run: the given values at a tenth of the budget, and 0.01 at its end."""
    rows = [
        {"dataset": dataset, "method": method, "settings": "", "seed": seed, "label": f"{method}/seed={seed}"}
        | {"metric": "kl", "passes": passes, "value": value if passes == 100 else 0.01}
        for dataset, methods in of.items()
        for method, values in methods.items()
        for seed, value in enumerate(values)
        for passes in (1000, 100)
    ]
    return pd.DataFrame(rows)


def answer(of: Mapping[str, Values], curves: pd.DataFrame | None = None, **shared: Any) -> str:
    return "\n".join(answer_lines(Results(frame_of(of, **shared), curves=pd.DataFrame() if curves is None else curves)))


def test_a_clear_win_is_a_win_with_its_value_and_a_tie_is_a_tie() -> None:
    text = answer({"a": CLEAR | {"cd": [0.5, 0.6, 0.7]}, "b": CLEAR | {"cd": [0.010, 0.012, 0.011]}})
    assert "**Densities: `nce`.** By KL, `nce` is best on `a` (0.0110); both methods tie on `b`." in text
    assert "Over these 2 datasets together `nce` has the best mean rank (1." in text
    assert "**Avoid:** no run diverged or collapsed" in text
    assert "**How sure:** 3 seeds" in text


def test_different_winners_on_different_data_are_no_common_answer() -> None:
    one, other = [0.010, 0.011, 0.012], [0.5, 0.6, 0.7]
    text = answer({"a": {"nce": one, "cd": other}, "b": {"nce": other, "cd": one}})
    assert "**Densities: it depends on the data.** By KL, `nce` is best on `a` (0.0110); `cd` is best on `b`" in text


def test_wins_on_many_datasets_are_counted() -> None:
    worse = {"cd": [0.5, 0.6, 0.7]}
    text = answer(dict.fromkeys("abcd", CLEAR | worse) | {"e": {"nce": [0.5, 0.6, 0.7], "cd": [0.01, 0.011, 0.012]}})
    assert "`nce` is best or ties with the best on 4 of 5 datasets, `cd` on 1." in text


def test_one_method_is_no_contest() -> None:
    text = answer({"a": CLEAR})
    assert "**Densities: nothing was compared.** By KL: only `nce` (0.0110) on `a`." in text
    assert not [word for word in ("is best", " tie", "Ties", "first of", "best method") if word in text]


def test_a_baseline_that_beats_the_only_method_beats_that_one() -> None:
    frame = frame_of({"a": {"gaussian": [9.0, 9.0], "nce": [6.0, 6.2]}}, "log_likelihood").assign(direction="higher")
    text = "\n".join(answer_lines(Results(frame)))
    assert "**On `a` the gaussian baseline beats `nce` in log-likelihood**: it has 9.00 nats, `nce` 6.10" in text


def test_images_without_a_good_run_have_no_answer() -> None:
    frame = frame_of({"digits": {"nce": [None, None], "cd": [None, None]}}, "fid_ratio", samples="short")
    lines = answer_lines(Results(frame, facts={"digits": {"levels": 17}}))
    assert lines[0].startswith("**Samples from noise: no answer.** No method has a value of FID ratio of short-run")


def test_one_seed_decides_nothing() -> None:
    text = answer({"a": {"gaussian": [1.0], "nce": [0.01], "cd": [0.5]}})
    assert "**Densities: undecided.**" in text
    assert "one seed cannot tell 2 methods apart (`nce` has the best value) on `a`" in text
    assert "1 seed and one choice of budget" in text
    assert "is best" not in text


def test_where_everything_diverged_nobody_is_recommended() -> None:
    text = answer({"a": {"gaussian": [1.0, 1.0], "nce": [None, None], "cd": [None, None]}})
    assert "**Densities: no answer.** No method has a value of KL." in text
    assert "**Avoid:** `nce` and `cd` diverged in 2 of 2 runs each." in text


def test_a_method_that_lost_a_run_wins_nothing_and_is_named() -> None:
    text = answer({"a": {"nce": [0.01, 0.011, None], "cd": [0.5, 0.6, 0.7], "dsm": [0.9, 0.91, 0.95]}})
    assert "**Densities: `nce`" not in text
    assert "`nce` diverged in 1 of 3 runs" in text


def test_a_method_is_worse_than_the_gaussian_only_if_every_run_is() -> None:
    of = CLEAR | {"cd": [1.1, 1.2, 1.3], "dsm": [0.9, 1.2, 1.3]}
    text = answer({"a": of, "b": of})
    assert "**Avoid:** `cd` is worse than the gaussian baseline in KL on `a` and `b`." in text


def test_long_runs_that_collapse_are_counted() -> None:
    text = answer({"a": CLEAR}, verdict="short-run-only")
    assert "long runs of `nce` on `a` collapse (3 of 3 runs)" in text


def test_the_first_moment_is_judged_by_itself() -> None:
    of = {"a": {"nce": [0.010, 0.011, 0.012], "cd": [0.5, 0.6, 0.7]}}
    early = {"a": {"nce": [0.5, 0.6, 0.7], "cd": [0.10, 0.11, 0.12]}}
    text = answer(of, curves_of(early))
    assert (
        "**On the way** (the same runs at 10 % of the budget, learning rates still high): `cd` is best on `a` (0.110)."
        in text
    )
    assert "At the full budget the leaders differ on `a`." in text
    assert "At the full budget the leaders are the same." in answer(of, curves_of(of))


def test_nothing_is_said_of_a_suite_without_runs() -> None:
    frame = to_frame([{"suite": "s", "dataset": "a", "method": "nce", "status": "failed"}])
    assert answer_lines(Results(frame)) == [
        "**Densities: no answer.** No method has a value of KL.",
        "**How sure:** not at all: there is no run.",
    ]


@pytest.mark.parametrize("of", ["report", "image_report"])
def test_the_answer_of_a_finished_report_is_the_one_it_shows(of: str, request: pytest.FixtureRequest) -> None:
    report: Path = request.getfixturevalue(of)
    lines = answer_lines(read_report(report))
    assert 3 <= len(lines) <= 5
    assert "\n\n" + "\n".join(f"- {line}" for line in lines) + "\n\n" in (report / "report.md").read_text("utf-8")


def test_on_images_a_method_of_lower_likelihood_than_a_gaussian_is_named_though_another_is_higher() -> None:
    values = {"gaussian": [10.0, 10.0], "mle": [-32.0, -31.0], "cd": [-42.0, 11.0], "ssm": [12.0, 12.5]}
    frame = frame_of({"digits": values}, "ais_optimistic").assign(direction="higher")
    text = describe_what_to_avoid(Results(frame, facts={"digits": {"levels": 17}}))
    assert text == "**Avoid:** `mle` is worse than the gaussian baseline in log-likelihood on `digits`."
    beaten = frame_of({"digits": {"gaussian": [10.0, 10.0], "mle": [-32.0, -31.0]}}, "ais_optimistic")
    text = describe_what_to_avoid(Results(beaten.assign(direction="higher"), facts={"digits": {"levels": 17}}))
    assert "is worse than" not in text
    assert "the gaussian baseline beats `mle` in log-likelihood" in text


def test_binary_data_are_compared_with_their_mixture() -> None:
    values = {"bernoulli_mixture": [-8.0, -8.0], "cd": [-10.0, -10.5], "mle": [-4.0, -4.1]}
    frame = frame_of({"bars": values}, "variational_bound").assign(direction="higher")
    text = describe_what_to_avoid(Results(frame, {"benchmark": {"metrics": ["variational_bound"]}}))
    assert "`cd` is worse than the bernoulli_mixture baseline in log-likelihood or bound on `bars`" in text


@pytest.mark.parametrize(("word", "told"), [("short-run-only", True), ("sampler limit", False)])
def test_long_runs_that_all_collapse_are_not_recommended(word: str, told: bool) -> None:
    values = {"mle": [1.0, 1.1, 1.05], "cd": [9.0, 9.1, 9.2], "nce": [30.0, 31.0, 32.0]}
    frame = frame_of({"digits": values}, "fid_ratio", samples="long", sampler_verdict=word)
    text = "\n".join(answer_lines(Results(frame, facts={"digits": {"levels": 17}})))
    assert text.startswith(f"**Long runs: {'none holds; least bad ' if told else ''}`mle`.**")

"""Data at several budgets: every number is of the frame, failures are infinite, and other suites have none of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ebmbench.report.figures import frontier as figure
from ebmbench.report.figures import profile as profile_figure
from ebmbench.report.figures.theme import apply_theme
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import to_frame
from ebmbench.report.sections import frontier, glance, ranking
from ebmbench.report.sections.answer import answer_lines
from ebmbench.report.statistics.contests import find_contests
from ebmbench.report.statistics.frontiers import find_frontiers
from ebmbench.report.statistics.profiles import Profile, compute_ratios, find_profile
from tests.report.made import DSM, NCE, TOY, frame_of, results_of
from tests.report.printed import expect_median


def table(text: str, corner: str) -> dict[str, list[str]]:
    lines = text.split(f"| {corner}")[1].split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    return {name: rest for name, *rest in cells}


def test_numbers_of_the_table_are_medians_of_the_frame_and_runs_without_a_value_are_infinite() -> None:
    found = table(frontier.text(results_of(TOY)), "median KL ↓")
    for place, values in enumerate(TOY.values()):
        for name in ("nce", "dsm"):
            expect_median(found[name][place], [one for one in values[name] if one is not None])
    assert found["ssm"] == ["2.10\u00a0(2/3)", "∞\u00a0(1/3)", "∞\u00a0(0/3)"]
    bold = {name: [cell.startswith("**") for cell in cells] for name, cells in found.items()}
    assert bold == {"nce": [True, True, False], "dsm": [False, False, True], "ssm": [False] * 3}


def test_a_target_is_reached_where_every_seed_reaches_it() -> None:
    found = table(frontier.text(results_of(TOY)), "passes to the target")
    assert found == {"nce": ["2\u00a0M", "∞"], "dsm": ["8\u00a0M", "8\u00a0M"], "ssm": ["∞", "∞"]}
    lost = results_of(TOY | {8_000_000: {"nce": NCE, "dsm": [0.008, 0.009, None], "ssm": NCE}})
    found = table(frontier.text(lost), "passes to the target")
    assert (found["dsm"], found["ssm"]) == (["∞", "∞"], ["8\u00a0M", "∞"])


def test_the_answer_says_who_leads_up_to_which_budget() -> None:
    first, *_, last = answer_lines(results_of(TOY))
    assert first == "**By compute, on `toy`** (KL): up to 2\u00a0M passes `nce`; at 8\u00a0M `dsm`."
    assert last.startswith("**How sure:** 3 seeds at each budget")
    assert "one choice of budget" not in last
    assert "Densities" not in " ".join(answer_lines(results_of(TOY)))
    assert glance.text(results_of(TOY)) == ""


def test_one_leader_everywhere_and_a_tie_are_said_as_such() -> None:
    clear, tie = {"nce": NCE, "dsm": DSM, "ssm": DSM}, {"nce": NCE, "dsm": NCE, "ssm": DSM}
    line = answer_lines(results_of({1_000_000: clear, 4_000_000: clear}))[0]
    assert line.endswith("from 1\u00a0M to 4\u00a0M passes, at each of 2 budgets, `nce`.")
    line = answer_lines(results_of({1_000_000: clear, 4_000_000: tie, 9_000_000: tie}))[0]
    assert line.endswith("at 1\u00a0M passes `nce`; from 4\u00a0M to 9\u00a0M `nce` and `dsm` tie.")


def test_images_are_judged_by_short_runs() -> None:
    results = results_of({200_000: {"nce": NCE, "dsm": DSM}, 800_000: {"nce": DSM, "dsm": NCE}}, "fid_ratio", levels=17)
    assert (
        "(FID ratio of short-run samples): at 0.2\u00a0M passes `nce`; at 0.8\u00a0M `dsm`." in answer_lines(results)[0]
    )
    assert len(table(frontier.text(results), "median FID ratio ↓")) == 2


def test_other_data_keep_their_answer_beside_those_at_several_budgets() -> None:
    one = results_of(TOY)
    other = frame_of({"moons": {"nce": NCE, "dsm": DSM}})
    both = Results(pd.concat([one.frame, other], ignore_index=True), one.params)
    text = "\n".join(answer_lines(both))
    assert "**By compute, on `toy`**" in text
    assert "**Densities: `nce`.** By KL, `nce` is best on `moons` (0.0110)." in text
    assert "one choice of budget on `moons`" in text
    assert "| median KL ↓ | `moons` |" in glance.text(both)


@pytest.mark.parametrize("change", [{"source": "other.py"}, {"overrides": {}, "train": 7}, {"overrides": {}}])
def test_other_suites_have_no_such_section(change: dict[str, Any], tmp_path: Path) -> None:
    budgets = {1: TOY[500_000], 8_000_000: TOY[8_000_000]}  # of which the second is the default
    results = results_of(budgets)
    assert len(find_frontiers(results)) == 1
    results.params["datasets"]["toy_0k"].update(change)
    assert (find_frontiers(results), frontier.text(results), figure.draw(results, tmp_path)) == ([], "", [])
    assert "**Densities: " in answer_lines(results)[0]


def test_the_profile_at_one_is_the_share_of_wins_and_failures_are_never_within_a_factor() -> None:
    results = results_of(TOY)
    profile = find_profile(results, find_contests(results))
    assert profile is not None
    counts = {factor: dict(zip(profile.names, profile.counts(factor), strict=True)) for factor in (1, 9, 1e9)}
    assert counts[1] == {"nce": 2, "dsm": 1, "ssm": 0}
    assert counts[9] == {"nce": 3, "dsm": 1, "ssm": 0}
    assert counts[1e9] == {"nce": 3, "dsm": 3, "ssm": 1}
    assert compute_ratios(np.array([[0.0, 1.0], [np.inf, np.inf]])).tolist() == [[1, np.inf], [np.inf, np.inf]]


def test_the_sentence_of_the_profile_names_who_has_most() -> None:
    assert "has the best median: `nce` (2);" in frontier.text(results_of(TOY))


@pytest.mark.parametrize("count", [3, 4])
def test_ranks_over_four_datasets_have_a_profile(count: int, tmp_path: Path) -> None:
    results = Results(frame_of({name: {"nce": NCE, "dsm": DSM} for name in "abcd"[:count]}))
    assert ("has the best median: `nce` (4)" in ranking.text(results)) == (count == 4)
    assert len(profile_figure.draw(results, tmp_path)) == (count == 4)


def test_a_likelihood_has_no_zero_and_so_no_profile() -> None:
    frame = frame_of({name: {"nce": NCE, "dsm": DSM} for name in "abcd"}, "log_likelihood")
    assert find_profile(Results(frame), find_contests(Results(frame))) is not None
    results = Results(frame.assign(direction="higher", value=-frame["value"]))
    assert find_profile(results, find_contests(results)) is None


def test_lines_go_through_the_medians_and_the_frontier_below_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(figure, "save", lambda made, file: drawn.append(made))
    with apply_theme():
        assert len(figure.draw(results_of(TOY), tmp_path)) == 2
    passes = drawn[0].axes[0]
    lines = {(line.get_color(), line.get_linewidth()): line for line in passes.lines}
    (grey,) = [line for (_, width), line in lines.items() if width == 5]
    assert sorted(set(grey.get_ydata()), reverse=True) == pytest.approx([0.11, 0.06, 0.009])
    assert passes.lines[0].get_ydata() == pytest.approx([0.11, 0.06, 0.06])
    assert [list(line.get_xdata()) for line in passes.lines if line.get_fillstyle() == "none"] == [[2e6], [8e6]]


@pytest.mark.parametrize("value", [None, 0.1])
def test_a_figure_without_any_value_or_cost_is_drawn(value: float | None, tmp_path: Path) -> None:
    results = results_of({budget: {"nce": [value] * 3, "dsm": [None] * 3} for budget in (500_000, 2_000_000)})
    with apply_theme():
        assert (tmp_path / figure.draw(results, tmp_path)[0].path).name == "frontier.svg"


def test_steps_of_a_profile_end_at_its_last_share() -> None:
    x, y = profile_figure._steps(Profile(["a"], np.array([[1.0], [3.0], [np.inf], [500.0]])), 0)
    assert (x, y) == ([1.0, 3.0, 100.0], [0.25, 0.5, 0.5])


def test_a_method_that_was_not_run_at_a_budget_is_missing_and_not_infinite() -> None:
    results = results_of({1_000_000: {"nce": NCE, "dsm": DSM}, 4_000_000: {"nce": NCE}})
    lost = to_frame([{"suite": "s", "dataset": "toy_4000k", "method": "dsm", "status": "not run"}])
    text = frontier.text(Results(pd.concat([results.frame, lost], ignore_index=True), results.params))
    assert table(text, "median KL ↓")["dsm"][1] == "– (not run)"


def test_ranks_over_budgets_do_not_count_datasets() -> None:
    assert "3 pairs of dataset and budget, 3 seeds." in ranking.text(results_of(TOY))

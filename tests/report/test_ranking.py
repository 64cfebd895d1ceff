"""The section of ranks: every printed number recomputed from `results.csv` by other means, and when there is none."""

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy import stats

from ebmbench.report.build import build
from ebmbench.report.figures import ranks as figures
from ebmbench.report.figures.theme import apply_theme
from ebmbench.report.results.frame import collect
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from ebmbench.report.sections import ranking
from tests.report.fixtures import Params
from tests.report.printed import parse, rows_of, values_of
from tests.report.test_figures import EYES, cielab

HEADINGS = {"KL": ("kl", None), "FID ratio of buffer samples": ("fid_ratio", "buffer")}
HEADINGS |= {f"FID ratio of {kind}-run samples": ("fid_ratio", kind) for kind in ("short", "long")}
NUMBERS = re.compile(r"^\**([\d.]+) \(([\d.]+)–([\d.]+)\)\**(?: over (.*))?$")
FRACTION = re.compile(r" \(\d+/\d+\)$")
Losses = dict[str, np.ndarray]


def section(report: Path) -> str:
    return (report / "report.md").read_text(encoding="utf-8").split("\n## Ranks\n")[1].split("\n## ")[0]


def contests(text: str) -> dict[str, list[list[str]]]:
    """The rows of the table below each heading."""
    found = {}
    for part in text.split("\n### ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("|")]
        found[part.splitlines()[0]] = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    return found


def name_of(row: list[str]) -> str:
    """The method of a row, without the share of its runs that have a value."""
    return FRACTION.sub("", row[0])


def losses(results: pd.DataFrame, names: list[str], metric: str, kind: str | None) -> Losses:
    """The values `(tasks, seeds)` of each method, infinite where there is none."""
    sets = [name for name in dict.fromkeys(results["dataset"]) if len(_values(results, name, names[0], metric, kind))]
    sets += [name for name in dict.fromkeys(results["dataset"]) if name not in sets and metric == "kl"]
    found = {}
    for name in names:
        values = np.full((len(sets), 3), np.inf)
        for place, dataset in enumerate(sets):
            floor = np.mean(values_of(rows_of(results, dataset, "oracle"), metric))
            for seed, value in _values(results, dataset, name, metric, kind).items():
                values[place, seed] = max(value, floor)
        found[name] = values
    return found


def _values(results: pd.DataFrame, dataset: str, name: str, metric: str, kind: str | None) -> dict[int, float]:
    rows = rows_of(results, dataset, name)
    rows = rows[(rows["metric"] == metric) & (rows["status"] == "ok") & rows["value"].notna()]
    rows = rows if kind is None else rows[rows["samples"] == kind]
    return dict(zip(rows["seed"].astype(int), rows["value"].astype(float), strict=True))


def interval(shares: list[float], rounding: float) -> tuple[float, float, float]:
    deviation = np.sqrt(np.var(shares, ddof=1) + rounding)
    low, high = stats.t.interval(0.95, len(shares) - 1, loc=np.mean(shares), scale=deviation / np.sqrt(len(shares)))
    return float(np.mean(shares)), float(low), float(high)


def rank_of(found: Losses, name: str) -> tuple[float, float, float]:
    tasks, seeds = found[name].shape
    shares = []
    for seed in range(seeds):
        below = [sum(other[task, seed] < found[name][task, seed] for other in found.values()) for task in range(tasks)]
        equal = [sum(other[task, seed] == found[name][task, seed] for other in found.values()) for task in range(tasks)]
        shares.append(float(np.mean(below) + (np.mean(equal) + 1) / 2))
    mean, low, high = interval(shares, 1 / 12 / tasks)
    return mean, max(low, 1.0), min(high, float(len(found)))


def better(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float, float]:
    """The probability that a run of ours has the smaller loss: Mann and Whitney's U over n², task by task."""
    tasks, seeds = ours.shape
    mean = np.mean([stats.mannwhitneyu(b, a).statistic / seeds**2 for a, b in zip(ours, theirs, strict=True)])
    shares = []
    for seed in range(seeds):
        alone = [stats.mannwhitneyu(b, a[[seed]]).statistic / seeds for a, b in zip(ours, theirs, strict=True)]
        met = [stats.mannwhitneyu(b[[seed]], a).statistic / seeds for a, b in zip(ours, theirs, strict=True)]
        shares.append(float(np.mean(alone) + np.mean(met) - mean))
    _, low, high = interval(shares, 1 / 24 / tasks)
    return float(mean), max(low, 0.0), min(high, 1.0)


def tied(found: Losses, order: list[str]) -> set[str]:
    """Nemenyi's critical difference between the first and the last, while the last is beyond it."""
    left = list(order)
    while len(left) > 1:
        ranks = stats.rankdata(np.stack([found[name] for name in left]), axis=0)
        behind, runs = ranks[-1] - ranks[0], ranks[0].size
        spread = max(len(left) * (len(left) + 1) / 6, np.mean([np.var(task, ddof=1) for task in behind]))
        allowed = stats.studentized_range.ppf(0.95, len(left), np.inf) * np.sqrt(spread / runs / 2)
        if behind.mean() <= allowed + (1 / runs if len(left) == 2 else 0):
            break
        left.pop()
    return set(left)


def check(text: str, results: pd.DataFrame) -> int:
    """Compare all numbers of the section with the results; returns how many there were."""
    count = 0
    for heading, rows in contests(text).items():
        found = losses(results, [name_of(row) for row in rows], *HEADINGS[heading])
        bold = tied(found, [name_of(row) for row in rows])
        for first, rank, probability in rows:
            name = FRACTION.sub("", first)
            match, other = NUMBERS.match(rank), NUMBERS.match(probability)
            assert match
            assert other
            expected = (*rank_of(found, name), *better(found[name], found[other[4]]))
            for printed, value in zip((*match.groups()[:3], *other.groups()[:3]), expected, strict=True):
                assert parse(printed)[0] == pytest.approx(value, abs=parse(printed)[1])
                count += 1
            assert rank.startswith("**") == (name in bold)
            valued, size = int(np.isfinite(found[name]).sum()), found[name].size
            share = "" if valued == size else f" ({valued}/{size})"
            assert first == f"{name}{share}"
    return count


@pytest.mark.parametrize(("of", "count"), [("report", 18), ("image_report", 84)])
def test_every_number_of_the_section_is_in_the_results(of: str, count: int, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(of)
    assert check(section(report), load_results(report)) == count


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("1.33 (", "1.34 ("), ("–2.21)", "–2.22)"), ("0.81 (", "0.80 ("), ("(5/6)", "(4/6)"), ("**2.00", "2.00")],
)
def test_a_wrong_number_would_be_noticed(report: Path, right: str, wrong: str) -> None:
    text = section(report)
    assert right in text
    with pytest.raises(AssertionError):
        check(text.replace(right, wrong), load_results(report))


def test_the_best_is_first_and_compared_with_the_second_and_all_others_with_it(image_report: Path) -> None:
    for rows in contests(section(image_report)).values():
        means = [float(row[1].strip("*").split(" ")[0]) for row in rows]
        assert means == sorted(means)
        assert rows[0][2].endswith(f" over {rows[1][0]}")
        assert all(row[2].endswith(f" over {rows[0][0]}") for row in rows[1:])


def test_who_is_left_out_is_named_with_the_reason(report: Path, image_report: Path) -> None:
    assert "Left out: `ncsn` (no KL on `eight_gaussians`, `two_moons`)." in section(report)
    assert "the others rank last. Left out: `nce`, `ncsn` (no buffer samples on `digits`); `ssm`" in section(
        image_report
    )
    assert section(image_report).rstrip().endswith("nothing to rank, only `cd` has it on `digits`.")


def test_the_section_stands_between_the_figures_and_the_health(report: Path) -> None:
    text = (report / "report.md").read_text(encoding="utf-8")
    assert text.index("## Samples") < text.index("## Ranks") < text.index("## Health of the runs")


def test_one_seed_or_one_method_has_no_ranks(root: Path, params: Params, text_only: None) -> None:
    frame = collect(root, params)
    assert ranking.text(Results(frame[frame["seed"].isna() | (frame["seed"] == 0)])) == ""
    alone = deepcopy(params)
    alone["benchmark"]["methods"] = ["mle"]
    text = (build(root, alone) / "report.md").read_text(encoding="utf-8")
    assert "## Ranks" not in text


def test_two_methods_have_a_table_and_no_figure(root: Path, params: Params) -> None:
    frame = collect(root, params)
    results = Results(frame[frame["settings"] != "interval=10"])
    assert "| mle (5/6) |" in ranking.text(results)
    assert figures.draw(results, root) == []


@pytest.fixture
def drawn(report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Figure:
    """The figure of the small suite, as it was when it was saved."""
    kept: list[Any] = []
    monkeypatch.setattr(figures, "save", lambda figure, file: kept.append(figure))
    with apply_theme():
        figures.draw(Results(load_results(report)), tmp_path)
    return kept[0]


def test_the_figure_shows_the_numbers_of_the_results(drawn: Figure, report: Path) -> None:
    left, right = drawn.axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [label.get_text() for label in right.get_xticklabels()]
    found = losses(load_results(report), names, "kl", None)
    means = [float(line.get_xdata()[0]) for line in left.lines if len(line.get_xdata()) == 1]
    assert means == pytest.approx([rank_of(found, name)[0] for name in names])
    ends = [tuple(map(float, line.get_xdata())) for line in left.lines if len(line.get_xdata()) == 2]
    assert np.allclose(ends, [rank_of(found, name)[1:] for name in names])
    for text in right.texts:
        column, row = (names[int(place)] for place in text.get_position())
        mean, low, high = better(found[row], found[column])
        assert float(text.get_text()) == pytest.approx(mean, abs=0.005)
        assert (text.get_fontweight() == "bold") == (low > 0.5 or high < 0.5)
    assert len(right.texts) == 6


def test_shaded_rows_and_bold_names_are_those_that_are_bold_in_the_table(drawn: Figure, report: Path) -> None:
    (rows,) = contests(section(report)).values()
    bold = [name_of(row) for row in rows if row[1].startswith("**")]
    labels = drawn.axes[0].get_yticklabels()
    assert [label.get_text() for label in labels if label.get_fontweight() == "bold"] == bold
    assert len(drawn.axes[0].patches) == len(bold)


@pytest.mark.parametrize("eye", EYES)
def test_better_and_worse_differ_for_every_eye_and_in_grey(eye: str) -> None:
    worse, coin, better_ = (cielab(to_hex(figures.improvement_colours()(value)), eye) for value in (0.0, 0.5, 1.0))
    assert np.linalg.norm(worse - better_) > 40
    assert coin[0] > worse[0] + 15 > better_[0] + 35
    assert coin[0] > 99


def test_names_that_leave_no_room_widen_the_figure() -> None:
    names = [
        f"mle learning_rate={rate}, energy_penalty={penalty}" for rate in (0.001, 0.0005) for penalty in (0.0, 0.05)
    ]
    figure, left, right = figures._panels(names * 2)
    assert left.get_position().width * figure.get_figwidth() == pytest.approx(figures.NARROWEST)
    assert left.get_position().x1 < right.get_position().x0


def test_long_names_stay_inside_the_figure(drawn: Figure) -> None:
    drawn.canvas.draw()
    width, height = drawn.canvas.get_width_height()
    for label in (*drawn.axes[0].get_yticklabels(), *drawn.axes[1].get_xticklabels()):
        box = label.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height

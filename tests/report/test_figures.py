"""What figures promise: fixed colours, the median run, one window for all maps."""

import shutil
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import rcParams
from matplotlib.colors import to_rgb

import ebmbench
from ebmbench.report.build import draw
from ebmbench.report.figures import cost, health
from ebmbench.report.figures.cost import compute_medians, number_moments, share_flops
from ebmbench.report.figures.health import choose_diagnostic, draw_dataset, spans_decades
from ebmbench.report.figures.maps import Panel, limits, panels
from ebmbench.report.figures.runs import median_run
from ebmbench.report.figures.theme import PALETTE, PLACES, apply_theme, colour, density_colours, line_style, marker
from ebmbench.report.results.frame import collect
from ebmbench.report.results.suite import Results, collect_results
from tests.report.suite import write_cell, write_data, write_records

SEVEN = ("mle", "cd", "nce", "adance", "dsm", "ssm", "ncsn")
# What eyes without one kind of cones make of linear RGB: Machado et al. (2009), severity 1.
EYES = {
    "all cones": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "no long": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no middle": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no short": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def cielab(shade: str, eye: str) -> Any:
    """A colour in CIELAB, as such an eye sees it."""
    encoded = np.array(to_rgb(shade))
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(EYES[eye]) @ linear, 0, 1)
    white = np.array([0.9505, 1.0, 1.089])
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen / white
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def lightness(shade: Any) -> float:
    """The grey that a printer makes of a colour, 0 to 1."""
    return float(np.dot(to_rgb(shade), [0.299, 0.587, 0.114]))


def runs(*values: float) -> pd.DataFrame:
    rows = [("kl", "ok", f"seed={seed}", seed, value) for seed, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["metric", "status", "label", "seed", "value"])


def test_the_seven_methods_have_seven_colours_that_never_change() -> None:
    assert len({colour(name) for name in SEVEN}) == len(SEVEN)
    assert [colour(name) for name in ("dsm", "nce", "mle")] == list(PALETTE[:3])


@pytest.mark.parametrize("eye", EYES)
def test_the_seven_colours_differ_for_every_eye(eye: str) -> None:
    seen = [cielab(colour(name), eye) for name in SEVEN]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > 15


def test_the_seven_methods_differ_in_grey_and_in_marker() -> None:
    greys = sorted(cielab(colour(name), "all cones")[0] for name in SEVEN)
    assert min(high - low for low, high in pairwise(greys)) > 7
    assert len({marker(name) for name in SEVEN}) == len(SEVEN)


def pair(name: str) -> tuple[str, str]:
    return colour(name), marker(name)


def test_no_two_of_24_methods_share_colour_and_marker_and_a_new_one_recolours_none_that_ships() -> None:
    shipped, new = [*PLACES[:12]], ["ed", "flip", *(f"mine_{place}" for place in range(10))]
    before = {name: pair(name) for name in shipped}
    with apply_theme([*new, *shipped]):
        assert len({pair(name) for name in (*shipped, *new)}) == 24
        assert {name: pair(name) for name in shipped} == before
        first = [pair(name) for name in new]
    with apply_theme([*shipped, *new, "last"]):
        assert [pair(name) for name in new] == first
        assert pair("last") not in first
        assert pair("stray") not in [pair(name) for name in (*PLACES, *new, "last")]


def test_every_method_that_ships_has_its_place_for_good() -> None:
    files = {file.stem for file in Path(ebmbench.__file__).parent.glob("methods/[a-z]*.py")}
    assert files - set(PLACES) == set(), "append to PLACES in ebmbench/report/figures/theme.py"
    assert len(set(PLACES)) == len(PLACES)


def test_variants_of_one_method_differ_in_line_or_fill() -> None:
    names = ["mle", *(f"adance interval={place}" for place in range(12))]
    styles = [line_style(name, names) for name in names]
    assert len({(str(one["linestyle"]), one["fillstyle"]) for one in styles[1:]}) == 12
    assert len({one["color"] for one in styles[1:]}) == 1
    assert (styles[0]["linestyle"], styles[0]["fillstyle"]) == ("-", "full")


def test_a_swept_method_keeps_its_colour_and_baselines_are_grey() -> None:
    assert colour("adance interval=5") == colour("adance")
    assert all(len(set(to_rgb(colour(name)))) == 1 for name in ("oracle", "gaussian"))


def test_density_colours_go_from_white_to_dark_and_never_back() -> None:
    shades = [lightness(density_colours()(value)[:3]) for value in np.linspace(0, 1, 60)]
    assert shades[0] == pytest.approx(1.0)
    assert all(later < earlier for earlier, later in pairwise(shades))


def test_the_theme_stays_inside_its_block() -> None:
    before = rcParams["svg.hashsalt"]
    with apply_theme():
        assert rcParams["svg.hashsalt"] == "ebmbench"
    assert rcParams["svg.hashsalt"] == before


def test_the_run_that_is_shown_is_the_median() -> None:
    assert median_run(runs(0.3, 0.1, 0.2), "kl") == ("seed=2", 0.2)
    assert median_run(runs(0.3, 0.1, 0.2, 0.9), "kl") == ("seed=2", 0.2)


def test_without_a_value_the_first_good_run_is_shown_and_none_without_good_runs() -> None:
    unknown = runs(float("nan"), float("nan"))
    assert median_run(unknown, "kl") == ("seed=0", None)
    assert median_run(unknown.assign(status="diverged"), "kl") == ("", None)


def test_a_failed_cell_has_a_panel_that_says_so(root: Path, params: dict[str, Any]) -> None:
    found = panels(Results(collect(root, params), root=root), "two_moons")
    assert [(one.name, one.note) for one in found if one.samples is None] == [("adance", "failed")]


def test_a_cell_that_was_not_run_has_no_panel(root: Path, params: dict[str, Any]) -> None:
    shutil.rmtree(root / "runs/tiny/two_moons/mle")
    found = panels(Results(collect(root, params), root=root), "two_moons")
    assert [one.name for one in found] == ["oracle", "gaussian", "adance", "ncsn"]


def test_the_window_is_a_square_around_the_support_inside_all_grids() -> None:
    x = np.linspace(-8.0, 8.0, 161)
    truth = np.exp(-(x[None, :] ** 2 + (2 * x[:, None]) ** 2))
    wide = Panel("a", "", "", {"x": x, "y": x, "truth": truth})
    (left, right), (low, high) = limits([wide])
    assert right - left == pytest.approx(high - low)
    assert 2.6 < right < 4.0
    near = np.linspace(-3.0, 3.0, 61)
    assert limits([wide, Panel("b", "", "", {"x": near, "y": near})])[0] == (-3.0, 3.0)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["chain_gradient_norm", "chain_acceptance"], "chain_acceptance"),
        (["chain_acceptance", "max_abs_log_g", "energy_gap"], "energy_gap"),
        (["c"], "c"),
        (["other"], "other"),
        (["chain_gradient_norm"], ""),
        ([], ""),
    ],
)
def test_the_third_panel_is_the_most_telling_diagnostic(columns: list[str], expected: str) -> None:
    history = pd.DataFrame({name: [1.0, 2.0] for name in ("label", "step", "passes", "loss", *columns)})
    assert choose_diagnostic(history) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.01, 5.0], True), ([0.0, 0.01, 5.0], True), ([1.0, 5.0], False), ([-1.0, 0.01, 5.0], False), ([0.0], False)],
)
def test_decades_are_shown_on_a_logarithmic_scale(values: list[float], expected: bool) -> None:
    assert spans_decades(np.array(values)) == expected


def test_seven_methods_and_five_seeds_give_images_of_a_bearable_size(tmp_path: Path, params: dict[str, Any]) -> None:
    cells = tmp_path / "runs/tiny/eight_gaussians"
    write_data(tmp_path, "tiny", {"name": "eight_gaussians"})
    write_cell(cells / "_baselines", "eight_gaussians", "", ["oracle", "gaussian"], (0, 1, 2, 3, 4))
    for name in SEVEN:
        write_cell(cells / name, "eight_gaussians", name, [name], (0, 1, 2, 3, 4))
    plan = {"benchmark": params["benchmark"] | {"datasets": ["eight_gaussians"], "methods": list(SEVEN)}}
    write_records(tmp_path, plan)
    images = draw(collect_results(tmp_path, plan, collect(tmp_path, plan)), tmp_path / "figures")
    assert all(name in images["samples"][0].alt for name in SEVEN)
    sizes = {file.name: file.stat().st_size for file in (tmp_path / "figures").iterdir()}
    assert len(sizes) == 8
    assert max(sizes.values()) < 300_000


def test_a_curve_is_the_median_over_the_seeds_at_each_moment_whatever_their_number_of_passes() -> None:
    rows = [("a", 10, 1.0, 8.0), ("a", 20, 2.0, 4.0), ("b", 20, 4.0, 1.0), ("b", 11, 3.0, 2.0)]
    rows += [("c", 12, 5.0, 5.0), ("c", 21, 9.0, float("nan"))]
    frame = pd.DataFrame(rows, columns=["label", "passes", "flops", "value"]).assign(dataset="d", variant="v")
    found = compute_medians(number_moments(frame).dropna())
    assert found[["passes", "flops"]].to_numpy().tolist() == [[11.0, 3.0], [20.0, 3.0]]
    assert found[["low", "median", "high"]].to_numpy().tolist() == [[2.0, 5.0, 8.0], [1.0, 2.5, 4.0]]


def test_flops_of_a_moment_are_the_share_of_its_passes_and_unknown_without_a_count() -> None:
    rows = [("a", "passes", 200.0), ("a", "flops", 5000.0), ("b", "passes", 100.0), ("c", "flops", 7.0)]
    frame = pd.DataFrame(rows, columns=["label", "metric", "value"]).assign(dataset="d", method="m")
    points = pd.DataFrame({"label": ["b", "a", "a", "c"], "passes": [50, 20, 200, 1]}, index=[4, 2, 9, 7])
    found = share_flops(points.assign(dataset="d", method="m"), frame)
    assert found.index.tolist() == [4, 2, 9, 7]
    assert found.loc[[2, 9]].tolist() == [500.0, 5000.0]
    assert found.loc[[4, 7]].isna().all()


def test_quality_is_drawn_against_flops_where_they_were_counted(
    root: Path, params: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(cost, "save", lambda figure, file: kept.append(figure))
    results = collect_results(root, params, collect(root, params))
    passes, flops = cost.draw(results, tmp_path)
    assert [axis.get_xlabel() for axis in kept[0].axes] == ["network passes"] * 2
    assert [axis.get_xlabel() for axis in kept[1].axes] == ["matrix FLOPs"] * 2
    assert list(kept[1].axes[0].lines[0].get_xdata()) == pytest.approx([3.2e8, 1.6e9, 3.2e9])
    assert (passes.closed, flops.closed) == (False, True)
    without = replace(results, frame=results.frame[results.frame["metric"] != "flops"])
    assert [image.path for image in cost.draw(without, tmp_path)] == ["figures/cost-kl.svg"]


def curve(costs: list[float], values: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"passes": costs, "median": values})


def test_the_leader_is_who_was_best_when_last_judged_and_nobody_leads_alone() -> None:
    late, early = curve([11.0, 100.0, 1000.0], [9.0, 4.0, 1.0]), curve([10.0, 101.0, 1000.0], [8.0, 5.0, 2.0])
    found = cost.find_leaders({"late": late, "early": early}, "passes")
    assert [name for name, _, _ in found] == ["early", "late"]
    assert found[0][1:] == (11.0, pytest.approx((11 * 101) ** 0.5))
    assert found[1][1:] == (found[0][2], 1000.0)
    turned = cost.find_leaders({"late": late, "early": early}, "passes", "higher")
    assert [name for name, _, _ in turned] == ["late", "early"]
    alone = cost.find_leaders({"first": curve([1.0, 50.0], [1.0, 1.0]), "b": late, "c": early}, "passes")
    assert alone[0][1] == 11.0


def test_a_likelihood_is_drawn_below_zero_too_on_an_axis_of_its_own(
    root: Path, params: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(cost, "save", lambda figure, file: kept.append(figure))
    results = collect_results(root, params, collect(root, params))
    one = results.frame.iloc[:1].assign(metric="log_likelihood", direction="higher", method="mean_field", value=-3.0)
    curves = results.curves.assign(metric="log_likelihood", value=-results.curves["value"])
    frame = pd.concat([results.frame[results.frame["metric"] != "log_likelihood"], one])
    cost.draw(replace(results, frame=frame, curves=curves), tmp_path)
    first = kept[0].axes[0]
    assert {axis.get_yscale() for axis in kept[0].axes} == {"linear"}
    assert max(first.lines[0].get_ydata()) < 0
    assert list(first.lines[-1].get_ydata()) == [-3.0, -3.0]
    assert kept[0].legends[0].get_texts()[-1].get_text() == "gaussian or mean_field"


def test_histories_follow_each_other_without_empty_panels_and_more_than_a_figure_holds_make_a_second(
    root: Path, params: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "runs/tiny/eight_gaussians/mle/history.csv"
    pd.read_csv(file).drop(columns="energy_gap").to_csv(file, index=False)
    kept: list[Any] = []
    monkeypatch.setattr(health, "save", lambda figure, file, colours: kept.append(figure))
    monkeypatch.setattr(health, "ROWS", 2)
    images = draw_dataset(Results(collect(root, params), root=root), "eight_gaussians", tmp_path)
    assert [image.path for image in images] == [
        "figures/health-eight_gaussians.png",
        "figures/health-eight_gaussians-2.png",
    ]
    titles = [[axis.get_title() for axis in figure.axes if axis.axison] for figure in kept]
    assert titles[0][:3] == ["mle: loss", "mle: ‖∇θ L‖", "adance interval=5: loss"]
    assert [len(some) for some in titles] == [6, 5]

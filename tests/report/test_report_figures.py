"""What figures promise: fixed colours, the median run, one window for all maps."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import rcParams
from matplotlib.colors import to_rgb

from ebmbench.report.figures.maps import Panel, limits, median_run, panels
from ebmbench.report.frame import collect
from ebmbench.report.theme import PALETTE, colour, density_colours, themed

SEVEN = ("mle", "cd", "nce", "adance", "dsm", "ssm", "ncsn")


def lightness(shade: Any) -> float:
    """The grey that a printer makes of a colour, 0 to 1."""
    return float(np.dot(to_rgb(shade), [0.299, 0.587, 0.114]))


def runs(*values: float) -> pd.DataFrame:
    rows = [("kl", "ok", f"seed={seed}", seed, value) for seed, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["metric", "status", "label", "seed", "value"])


def test_the_seven_methods_have_seven_colours_that_never_change() -> None:
    assert len({colour(name) for name in SEVEN}) == len(SEVEN)
    assert [colour(name) for name in ("dsm", "nce", "mle")] == list(PALETTE[:3])


def test_a_swept_method_keeps_its_colour_and_baselines_are_grey() -> None:
    assert colour("adance interval=5") == colour("adance")
    assert all(len(set(to_rgb(colour(name)))) == 1 for name in ("oracle", "gaussian"))


def test_density_colours_go_from_white_to_dark_and_never_back() -> None:
    shades = [lightness(density_colours()(value)[:3]) for value in np.linspace(0, 1, 60)]
    assert shades[0] == pytest.approx(1.0)
    assert all(later < earlier for earlier, later in pairwise(shades))


def test_the_theme_stays_inside_its_block() -> None:
    before = rcParams["svg.hashsalt"]
    with themed():
        assert rcParams["svg.hashsalt"] == "ebmbench"
    assert rcParams["svg.hashsalt"] == before


def test_the_run_that_is_shown_is_the_median_by_kl() -> None:
    assert median_run(runs(0.3, 0.1, 0.2)) == ("seed=2", 0.2)
    assert median_run(runs(0.3, 0.1, 0.2, 0.9)) == ("seed=2", 0.2)


def test_without_kl_the_first_good_run_is_shown_and_none_without_good_runs() -> None:
    unknown = runs(float("nan"), float("nan"))
    assert median_run(unknown) == ("seed=0", None)
    assert median_run(unknown.assign(status="diverged")) == ("", None)


def test_a_failed_cell_has_a_panel_that_says_so(root: Path, params: dict[str, Any]) -> None:
    found = panels(root, collect(root, params), "two_moons")
    assert [(one.name, one.note) for one in found if one.density is None] == [("adance", "failed")]


def test_the_window_is_a_square_around_the_support_inside_all_grids() -> None:
    x = np.linspace(-8.0, 8.0, 161)
    truth = np.exp(-(x[None, :] ** 2 + (2 * x[:, None]) ** 2))
    wide = Panel("a", "", "", {"x": x, "y": x, "truth": truth})
    (left, right), (low, high) = limits([wide])
    assert right - left == pytest.approx(high - low)
    assert 2.6 < right < 4.0
    near = np.linspace(-3.0, 3.0, 61)
    assert limits([wide, Panel("b", "", "", {"x": near, "y": near})])[0] == (-3.0, 3.0)

"""The density that each method learned, next to the truth, on one scale of colours.

The scale ends at the largest true density and goes with the square root: else the thin mass that a method spreads
where there are no data would be invisible. The grey line is the edge of the support.
"""

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm

from ebmbench.report.figures.maps import (
    ACROSS,
    Panel,
    empty_panel,
    frame_panel,
    grid,
    limits,
    outline,
    panels,
    truth_of,
)
from ebmbench.report.figures.theme import density_colours, save
from ebmbench.report.results.groups import datasets, short_name
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "densities"
ORDER = 10


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each dataset in the plane on which a method has a density."""
    sets = datasets(results.toys)
    found = {dataset: [one for one in panels(results, dataset) if one.name != "oracle"] for dataset in sets}
    return [
        _figure(dataset, shown, short_name(results.main_metric_of(dataset)), folder)
        for dataset, shown in found.items()
        if any(one.density is not None for one in shown)
    ]


def _figure(dataset: str, found: list[Panel], metric: str, folder: Path) -> Image:
    truth = truth_of(found)
    shown = [_truth_panel(truth, dataset), *found] if truth is not None else found
    figure, axes = grid(len(shown))
    norm, window = PowerNorm(0.5, vmin=0.0, vmax=_top(found, truth)), limits(found)
    for axis, panel in zip(axes, shown, strict=True):
        _map(axis, panel, norm)
        outline(axis, truth if panel.density is not None else None)
        frame_panel(axis, f"{panel.name}\n{panel.note}", window)
    slim = 22 * math.ceil(len(axes) / ACROSS)
    colours = ScalarMappable(norm, density_colours())
    bar = figure.colorbar(colours, ax=axes, shrink=0.85, aspect=slim, pad=0.01, extend="max")
    bar.set_label("density (√ scale)")
    save(figure, folder / f"density-{dataset}.png")
    return _image(dataset, found, truth, metric)


def _truth_panel(known: Panel, dataset: str) -> Panel:
    arrays = {"x": known.arrays["x"], "y": known.arrays["y"], "model:truth": known.arrays["truth"]}
    return Panel("truth", dataset, "truth", arrays)


def _top(found: list[Panel], truth: Panel | None) -> float:
    """The end of the scale: the largest true density, or of all models if the truth is unknown."""
    if truth is not None:
        return float(truth.arrays["truth"].max())
    return max(float(one.density.max()) for one in found if one.density is not None)


def _map(axis: Axes, panel: Panel, norm: PowerNorm) -> None:
    """The map of a panel, or a grey ground that says that there is none."""
    if panel.density is None:
        empty_panel(axis, "no density")
        return
    x, y = panel.arrays["x"], panel.arrays["y"]
    extent = (float(x[0]), float(x[-1]), float(y[0]), float(y[-1]))
    colours = density_colours()
    axis.imshow(panel.density, colours, norm, origin="lower", extent=extent, interpolation="bilinear")


def _image(dataset: str, found: list[Panel], truth: Panel | None, metric: str) -> Image:
    shown = "; ".join(f"{one.name}: {one.note}{'' if one.density is not None else ', no density'}" for one in found)
    beside = "the true density and " if truth is not None else ""
    edge = " The grey line is the edge of the data's support." if truth is not None else ""
    unscored = f" A method without a {metric} shows its first good run." if any(one.unscored for one in found) else ""
    return Image(
        f"figures/density-{dataset}.png",
        f"Maps of {beside}the learned densities on {dataset}. {shown}",
        f"`{dataset}`: {beside}the density of each method's median run by {metric}, on one scale of colours."
        f"{edge}{unscored}",
    )

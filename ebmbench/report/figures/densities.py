"""The density that each method learned, next to the truth, on one scale of colours.

The scale ends at the largest true density and goes with the square root: else the thin mass that a method spreads
where there are no data would be invisible. The grey line is the edge of the support. Data whose density is unknown are
shown as points in the truth's place.
"""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ebmbench.report.figures.maps import (
    Array,
    Panel,
    draw_points,
    empty_panel,
    frame_panel,
    grid,
    limits,
    outline,
    panels,
    truth_of,
)
from ebmbench.report.figures.theme import INK, density_colours, save
from ebmbench.report.results.groups import datasets, short_name
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "densities"
ORDER = 10
BAR = 0.6  # inches of the scale of colours


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
    truth, first = truth_of(found), _first_panel(found)
    shown = [first, *found] if first is not None else found
    figure, axes = grid(shown, BAR)
    norm, window = PowerNorm(0.5, vmin=0.0, vmax=_top(found, truth)), limits(found)
    for axis, panel in zip(axes, shown, strict=True):
        draw_map(axis, panel, panel.density, norm)
        outline(axis, truth if panel.density is not None else None)
        frame_panel(axis, panel.title, window)
    draw_scale(figure, axes, norm)
    save(figure, folder / f"density-{dataset}.png")
    beside = f"{first.name} and " if first is not None else ""
    run = f"median run by {metric}" if any(one.value is not None for one in found) else "first good run"
    return Image(
        f"figures/density-{dataset}.png",
        f"Maps of {dataset}: {beside}the densities of {', '.join(one.name for one in found)}.",
        f"`{dataset}`: {beside}the density of each method's {run}, on one scale of colours.",
    )


def _first_panel(found: list[Panel]) -> Panel | None:
    """What the methods were to learn: the true density, or else the data."""
    if (truth := truth_of(found)) is not None:
        return Panel("truth", "", arrays=truth.arrays | {"model": truth.arrays["truth"]})
    known = next((one.arrays for one in found if "data" in one.arrays), None)
    return Panel("data", "held-out points", arrays={"data": known["data"]}) if known is not None else None


def _top(found: list[Panel], truth: Panel | None) -> float:
    """The end of the scale: the largest true density, or of all models if the truth is unknown."""
    if truth is not None:
        return float(truth.arrays["truth"].max())
    return max(float(one.density.max()) for one in found if one.density is not None)


def draw_scale(figure: Figure, axes: list[Axes], norm: PowerNorm) -> None:
    """The scale of colours below all panels."""
    bar = figure.colorbar(
        ScalarMappable(norm, density_colours()),
        ax=axes,
        location="bottom",
        shrink=0.6,
        aspect=40,
        pad=0.01,
        extend="max",
        ticks=MaxNLocator(4),
    )
    bar.set_label("density (√ scale)")


def draw_map(axis: Axes, panel: Panel, density: Array | None, norm: PowerNorm) -> None:
    """A density of a panel, the points of data, or a grey ground that says that there is no map."""
    if panel.name == "data":
        draw_points(axis, panel.arrays["data"], INK)
        return
    if density is None:
        empty_panel(axis, "no density")
        return
    x, y = panel.arrays["x"], panel.arrays["y"]
    extent = (float(x[0]), float(x[-1]), float(y[0]), float(y[-1]))
    colours = density_colours()
    axis.imshow(density, colours, norm, origin="lower", extent=extent, interpolation="bilinear")

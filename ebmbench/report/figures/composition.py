"""Sums of energies: each method's density times the same density turned, next to the product of the truth.

Nothing is trained for it. On the scale of colours of the product of the truth, with KL of the products in each title.
"""

from dataclasses import replace
from pathlib import Path

from matplotlib.colors import PowerNorm

from ebmbench.report.figures.densities import BAR, draw_map, draw_scale
from ebmbench.report.figures.maps import Panel, frame_panel, grid, limits, panels
from ebmbench.report.figures.theme import save
from ebmbench.report.results.groups import datasets
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image
from ebmbench.report.text.numbers import ROUNDING

SECTION = "densities"
ORDER = 20


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each dataset in the plane whose density is known, if a turn of it gives something new."""
    found = {dataset: panels(results, dataset) for dataset in datasets(results.toys)}
    return [
        _figure(dataset, shown, folder)
        for dataset, shown in found.items()
        if any("composed" in one.arrays and one.name != "oracle" for one in shown)
    ]


def _figure(dataset: str, found: list[Panel], folder: Path) -> Image:
    truth = next(one.arrays for one in found if "composed_truth" in one.arrays)
    product = truth["composed_truth"]
    shown = [Panel("truth", "", arrays={**truth, "composed": product})]
    shown += [replace(one, note=_note(one)) for one in found if one.name != "oracle"]
    figure, axes = grid(shown, BAR)
    norm = PowerNorm(0.5, vmin=0.0, vmax=float(product.max()))
    for axis, panel in zip(axes, shown, strict=True):
        draw_map(axis, panel, panel.arrays.get("composed"), norm)
        frame_panel(axis, panel.title, limits(found))
    draw_scale(figure, axes, norm)
    file = save(figure, folder / f"composition-{dataset}.png")
    return Image(
        f"figures/{file.name}",
        f"Maps of {dataset}: products of a density and the same turned, of {', '.join(one.name for one in shown)}.",
        f"`{dataset}`: the same runs composed. Each energy is added to itself, turned by {float(truth['turn']):g}° "
        "about the middle of the modes, without any training; the product of the true densities first. KL is between "
        "the products, on a grid. Where the turn swaps modes, errors of their weights cancel.",
        f"Sums of two energies on {dataset}",
        closed=True,
    )


def _note(panel: Panel) -> str:
    """KL of the products."""
    value = float(panel.arrays["composed_kl"]) if "composed_kl" in panel.arrays else None
    return panel.note if value is None else f"KL {value if abs(value) > ROUNDING else 0:.3g}"

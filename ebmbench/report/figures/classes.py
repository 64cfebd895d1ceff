"""Into which classes the samples fall, by the reference classifier: a row for each method's median run and kind.

White is an even share, orange less, blue more. The figure shows lost modes; it cannot show whether samples look like
anything, for a classifier finds a class for every image.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ebmbench.report.figures.gallery import HEADINGS
from ebmbench.report.figures.ranks import improvement_colours
from ebmbench.report.figures.runs import ImageRun, first_array, read_image_runs
from ebmbench.report.figures.theme import INK, WIDTH, save
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import variants
from ebmbench.report.results.kinds import kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 40
ROW, HEAD = 0.25, 0.45  # inches: of a row, and above the rows
LETTER = 0.065  # inches that a letter of a class takes when it stands upright
DARK = 0.85  # the place in the colours from which on a number is better read in white

Row = tuple[str, Any, float | None]  # words, shares, entropy


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each image dataset whose samples were classified."""
    return [image for dataset in results.image_datasets if (image := _figure(results, dataset, folder)) is not None]


def _figure(results: Results, dataset: str, folder: Path) -> Image | None:
    runs = {kind: read_image_runs(results, dataset, kind) for kind in kinds(results.frame, dataset)}
    found = [(kind, one) for kind, some in runs.items() for one in some if "histogram" in one.arrays]
    own = [(kind, one) for kind, one in found if not is_baseline(one.name)]
    if not own:
        return None
    order = list(variants(results.frame, dataset))
    own.sort(key=lambda pair: order.index(pair[1].name))  # stable: kinds stay in order
    exact = {one.name: _row(one.name, one) for _, one in found if is_baseline(one.name)}
    rows = [*exact.values(), *(_row(f"{one.name}, {HEADINGS[kind]}", one) for kind, one in own)]
    file = f"classes-{dataset}.png"
    save(_draw(rows, _names(first_array((one for _, one in found), "classes"), own[0][1])), folder / file)
    return Image(
        f"figures/{file}",
        f"Shares of the classes among the samples of each method on {dataset}.",
        f"`{dataset}`: per cent of the samples in each class, by the reference classifier; white is an even share. "
        "`oracle` is real images.",
        f"Classes of the samples on {dataset}",
        closed=True,
    )


def _row(words: str, one: ImageRun) -> Row:
    counts = one.arrays["histogram"].astype(np.float64)
    return words, counts / max(1.0, float(counts.sum())), one.value("class_entropy")


def _draw(rows: list[Row], names: list[str]) -> Figure:
    """A cell for each row and class, and the entropy of the row's shares on the right."""
    long = max(map(len, names)) > 2
    above = HEAD + LETTER * max(map(len, names)) * long
    figure = Figure(figsize=(WIDTH, above + ROW * len(rows)), layout="constrained")
    axis = figure.subplots()
    even = 1 / len(names)
    places = np.clip(np.array([shares for _, shares, _ in rows]) / (2 * even), 0, 1)
    axis.pcolormesh(places, cmap=improvement_colours(), vmin=0, vmax=1, edgecolors="white", linewidth=1)
    for line, (_, shares, _) in enumerate(rows):
        for column, share in enumerate(shares):
            shade = "white" if places[line, column] > DARK else INK
            axis.text(column + 0.5, line + 0.5, f"{100 * share:.0f}", ha="center", va="center", size=8.5, color=shade)
    axis.set(ylim=(len(rows), 0))
    axis.set_yticks(np.arange(len(rows)) + 0.5, [words for words, _, _ in rows])
    axis.set_xticks(np.arange(len(names)) + 0.5, names, rotation=90 if long else 0)
    axis.xaxis.tick_top()
    right = axis.secondary_yaxis("right")
    right.set_yticks(np.arange(len(rows)) + 0.5, ["–" if known is None else f"{known:.3g}" for *_, known in rows])
    right.set_ylabel("entropy")
    for one in (axis, right):
        one.tick_params(length=0)
        one.spines[:].set_visible(False)
    axis.grid(visible=False)
    return figure


def _names(known: Any, one: ImageRun) -> list[str]:
    count = len(one.arrays["histogram"])
    return [str(name) for name in known] if known is not None and len(known) == count else list(map(str, range(count)))

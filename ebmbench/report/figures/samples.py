"""What each method's sampler gives: clouds of points over the edge of the data's support."""

from pathlib import Path

import pandas as pd

from ebmbench.report.figures.image import Image
from ebmbench.report.figures.maps import frame_panel, grid, limits, outline, panels, truth_of
from ebmbench.report.theme import EMPTY, colour, save


def samples(root: Path, frame: pd.DataFrame, dataset: str, folder: Path) -> Image | None:
    """Draw the samples of a dataset's methods; None if there are none."""
    found = panels(root, frame, dataset)
    if all(one.samples is None for one in found):
        return None
    figure, axes = grid(len(found))
    truth, window = truth_of(found), limits(found)
    for axis, panel in zip(axes, found, strict=True):
        if panel.samples is not None:
            x, y = panel.samples[:, 0], panel.samples[:, 1]
            axis.scatter(x, y, s=3, color=colour(panel.name), alpha=0.6, linewidths=0)
            outline(axis, truth)
        else:
            axis.set_facecolor(EMPTY)
        name = "data (oracle)" if panel.name == "oracle" else panel.name
        frame_panel(axis, f"{name}\n{panel.note}", window)
    save(figure, folder / f"samples-{dataset}.png")
    return Image(
        f"figures/samples-{dataset}.png",
        f"Samples of {', '.join(one.name for one in found)} on {dataset}",
        f"`{dataset}`: up to 2000 long-run samples of the same runs as above, all drawn by one sampler from noise; "
        "points outside the square are not shown.",
    )

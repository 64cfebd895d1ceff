"""What each method's sampler gives: clouds of points over the edge of the data's support."""

from pathlib import Path

import pandas as pd

from ebmbench.report.figures.image import Image
from ebmbench.report.figures.maps import Panel, empty_panel, frame_panel, grid, limits, outline, panels, truth_of
from ebmbench.report.figures.theme import colour, save
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import variants
from ebmbench.report.results.samplers import Sampled, by_sampler, sampler_of


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
            empty_panel(axis, "no samples")
        name = "data (oracle)" if panel.name == "oracle" else panel.name
        frame_panel(axis, f"{name}\n{panel.note}", window)
    save(figure, folder / f"samples-{dataset}.png")
    return Image(
        f"figures/samples-{dataset}.png",
        f"Samples of {', '.join(one.name for one in found)} on {dataset}",
        f"`{dataset}`: up to 2000 samples of the same runs as above; points outside the square are not shown."
        f"{_drawn_by(_samplers(root, frame, dataset, found))}",
    )


def _samplers(root: Path, frame: pd.DataFrame, dataset: str, found: list[Panel]) -> Sampled:
    """The methods of the panels by the sampler of the run that is shown."""
    rows = {name: part.iloc[0] for name, part in variants(frame, dataset).items()}
    shown = [one for one in found if one.samples is not None and not is_baseline(one.name)]
    places = {one.name: {key: str(rows[one.name][key]) for key in ("suite", "dataset", "method")} for one in shown}
    return by_sampler((one.name, sampler_of(root, places[one.name] | {"label": one.label})) for one in shown)


def _drawn_by(samplers: Sampled) -> str:
    parts = [f"by `{sampler}`: {', '.join(names)}" for sampler, names in samplers.items()]
    return f" Sampled {'; '.join(parts)}." if parts else ""

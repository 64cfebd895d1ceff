"""What each method's sampler gives: clouds of points over the edge of the data's support."""

from pathlib import Path

from ebmbench.report.figures.maps import Panel, empty_panel, frame_panel, grid, limits, outline, panels, truth_of
from ebmbench.report.figures.theme import colour, save
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import datasets, variants
from ebmbench.report.results.samplers import group_by_sampler, read_sampler
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 10


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each dataset in the plane that has samples."""
    found = {dataset: panels(results, dataset) for dataset in datasets(results.toys)}
    return [
        _figure(results, dataset, shown, folder)
        for dataset, shown in found.items()
        if any(one.samples is not None for one in shown)
    ]


def _figure(results: Results, dataset: str, found: list[Panel], folder: Path) -> Image:
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
        f"{_drawn_by(results, dataset, found)}",
    )


def _drawn_by(results: Results, dataset: str, found: list[Panel]) -> str:
    """The samplers of the runs that are shown, with their methods."""
    rows = {name: part.iloc[0] for name, part in variants(results.frame, dataset).items()}
    pairs = []
    for one in found:
        if one.samples is not None and not is_baseline(one.name):
            run = {key: str(rows[one.name][key]) for key in ("suite", "dataset", "method")} | {"label": one.label}
            pairs.append((one.name, read_sampler(results.root, run)))
    parts = [f"by `{sampler}`: {', '.join(names)}" for sampler, names in group_by_sampler(pairs).items()]
    return f" Sampled {'; '.join(parts)}." if parts else ""

"""What each method's sampler gives: clouds of points over the edge of the data's support."""

from pathlib import Path

from ebmbench.report.figures.maps import (
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
from ebmbench.report.figures.theme import colour, save
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import datasets, variants
from ebmbench.report.results.samplers import group_by_sampler, read_sampler
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 10


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each dataset in the plane that has samples; the first is open."""
    found = {dataset: panels(results, dataset) for dataset in datasets(results.toys)}
    shown = {dataset: some for dataset, some in found.items() if any(one.samples is not None for one in some)}
    return [
        _figure(results, dataset, some, folder, closed=place > 0) for place, (dataset, some) in enumerate(shown.items())
    ]


def _figure(results: Results, dataset: str, found: list[Panel], folder: Path, closed: bool) -> Image:
    figure, axes = grid(found)
    truth, window = truth_of(found), limits(found)
    for axis, panel in zip(axes, found, strict=True):
        if panel.samples is not None:
            draw_points(axis, panel.samples, colour(panel.name))
            outline(axis, truth)
        else:
            empty_panel(axis, "no samples")
        frame_panel(axis, panel.title, window)
    save(figure, folder / f"samples-{dataset}.png")
    return Image(
        f"figures/samples-{dataset}.png",
        f"Samples on {dataset} of {', '.join(one.name for one in found)}.",
        f"`{dataset}`: samples of the same runs; `oracle` is real data.{_drawn_by(results, dataset, found)}",
        f"Samples on {dataset}",
        closed,
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

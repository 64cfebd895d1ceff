"""Inpainting: test images without their lower half, and what chains of each method put there.

The known half is put back after each step, so the chains draw from the model's density given it.
"""

from pathlib import Path

import numpy as np

from ebmbench.report.figures.canvas import fit_largest
from ebmbench.report.figures.chains import Block, draw_blocks
from ebmbench.report.figures.runs import median_run, read_pictures
from ebmbench.report.figures.theme import brief_name, write_png
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import RATIO, short_name, variants
from ebmbench.report.results.kinds import mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image
from ebmbench.report.text.numbers import format_number

SECTION = "samples"
ORDER = 35
KINDS = ("short", "long")  # of the median run, as of the chains that are shown
IMAGES = (8, 6, 4)  # as many as the size of the file allows


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each dataset of images, of grey values or of black and white, that has completions."""
    found = {dataset: _blocks(results, dataset) for dataset in results.datasets}
    return [_figure(results, dataset, blocks, folder) for dataset, blocks in found.items() if blocks]


def _blocks(results: Results, dataset: str) -> list[Block]:
    """A block for each method: a row for each image, with the real one, the covered one, and completions."""
    images = dataset in results.image_datasets
    metric, blocks = RATIO if images else results.main_metric_of(dataset), []
    for name, rows in variants(results.frame, dataset).items():
        if is_baseline(name):
            continue
        of_kinds = [mask_other_kinds(rows, kind) for kind in KINDS] if images else [rows]
        runs = [median_run(part, metric) for part in of_kinds]
        label, value = next((run for run in runs if run[1] is not None), runs[0])
        arrays = read_pictures(results, rows, ("real", "covered", f"completed:{label}"))
        if len(arrays) == 3:
            drawn = arrays[f"completed:{label}"]
            known = np.stack([arrays["real"][: len(drawn)], arrays["covered"]], axis=1)
            headings = ["real", "half", *(str(number + 1) for number in range(drawn.shape[1]))]
            note = "" if value is None else format_number(value)
            blocks.append((brief_name(name), note, np.concatenate([known, drawn], axis=1), headings))
    return blocks


def _figure(results: Results, dataset: str, blocks: list[Block], folder: Path) -> Image:
    page, _ = fit_largest(lambda count: draw_blocks(blocks, count), IMAGES)
    file = f"completions-{dataset}.png"
    write_png(page, folder / file)
    names = ", ".join(name for name, *_ in blocks)
    metric = RATIO if dataset in results.image_datasets else results.main_metric_of(dataset)
    return Image(
        f"figures/{file}",
        f"Completions on {dataset} by {names}: a real image, its upper half, and chains given that.",
        f"`{dataset}`: the first test images, their upper halves, and what chains of each method's median run put "
        "below. The known half is put back after each step; sampler and steps are those of its short runs, else of the "
        f"long ones. Number: {short_name(metric)}.",
        f"Completions on {dataset}",
        closed=True,
    )

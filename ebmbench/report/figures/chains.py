"""Chains unrolled: what a sampler makes of its start, a chain in each row, its steps from left to right."""

from pathlib import Path
from typing import Any

from PIL import Image as Picture

from ebmbench.report.figures.canvas import GAP, LETTER, PAGE, Canvas, enlargement, fit_largest
from ebmbench.report.figures.runs import ImageRun, read_image_runs
from ebmbench.report.figures.theme import write_png
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 30

KINDS = ("short", "long")  # the first that a method has is shown
CHAINS = (4, 3, 2)  # as many as the size of the file allows
TITLE, STEPS, BETWEEN = 24, 20, 12  # pixels: above a block, for the numbers of steps, between blocks

Block = tuple[str, str, Any, list[str]]  # name, note, chains (N, T, C, H, W), a heading for each of the T columns


def draw(results: Results, folder: Path) -> list[Image]:
    """A few chains of each method, in a figure for each image dataset that has any."""
    found = {dataset: choose_chains(results, dataset) for dataset in results.image_datasets}
    return [_figure(dataset, runs, folder) for dataset, runs in found.items() if runs]


def _figure(dataset: str, found: list[tuple[ImageRun, str]], folder: Path) -> Image:
    blocks = [
        (
            one.name,
            f"{kind}, {one.quality}",
            one.arrays["chain"],
            [brief(int(step)) for step in one.arrays["chain_steps"]],
        )
        for one, kind in found
    ]
    page, _ = fit_largest(lambda chains: draw_blocks(blocks, chains), CHAINS)
    file = f"chains-{dataset}.png"
    write_png(page, folder / file)
    return Image(
        f"figures/{file}",
        f"Chains of {', '.join(one.name for one, _ in found)} on {dataset}, from their start on the left.",
        f"`{dataset}`: chains of each method's median run, one a row. Numbers: steps, and the FID ratio.",
        f"Chains on {dataset}, step by step",
        closed=True,
    )


def choose_chains(results: Results, dataset: str) -> list[tuple[ImageRun, str]]:
    """The run of each method, in the order of the suite, with the kind of its chains."""
    runs = {kind: {one.name: one for one in read_image_runs(results, dataset, kind)} for kind in KINDS}
    names = dict.fromkeys(name for kind in KINDS for name in runs[kind] if not is_baseline(name))
    order = {name: place for place, name in enumerate(dict.fromkeys(results.frame["method"]))}
    found = []
    for name in sorted(names, key=lambda name: order[name.split(" ")[0]]):
        has = [
            kind for kind in KINDS if name in runs[kind] and {"chain", "chain_steps"} <= runs[kind][name].arrays.keys()
        ]
        found += [(runs[has[0]][name], has[0])] if has else []
    return found


def draw_blocks(blocks: list[Block], chains: int) -> Picture.Image:
    """The blocks in as many columns as the page has room for."""
    height, width = blocks[0][2].shape[-2:]
    scale = enlargement(width)
    step_x, step_y = width * scale + GAP, height * scale + GAP
    wide = max(len(headings) for *_, headings in blocks) * step_x + BETWEEN
    high = TITLE + STEPS + chains * step_y + BETWEEN // 2
    across = max(1, min(len(blocks), PAGE // wide))
    page = Canvas(across * wide, -(-len(blocks) // across) * high)
    for place, (name, note, images, headings) in enumerate(blocks):
        left, top = place % across * wide + BETWEEN // 2, place // across * high
        room = wide - BETWEEN - GAP - LETTER * (len(note) + 1)
        page.write(name, left, top + 18, size=min(9.5, 9.5 * room / (LETTER * len(name))), bold=True, at="left")
        page.write(note, left + wide - BETWEEN - GAP, top + 18, at="right")
        for column, heading in enumerate(headings):
            page.write(heading, left + (column + 0.5) * step_x, top + TITLE + STEPS - 5, size=8)
            for row, image in enumerate(images[:chains, column]):
                page.paste(image, left + column * step_x, top + TITLE + STEPS + row * step_y, scale)
    return page.image()


def brief(step: int) -> str:
    """A number of steps in four characters at most."""
    return f"{step / 1000:.3g}k" if step >= 1000 else str(step)

"""A gallery of each image dataset: a row for each method, a column for each kind of samples, references once on top.

Samples are the first of the median run by FID ratio, not chosen. Two kinds share a column if no method has both.
Where the file would be too large, each tile has fewer images.
"""

from collections.abc import Mapping, Set
from itertools import chain
from pathlib import Path
from typing import Any

from PIL import Image as Picture

from ebmbench.report.figures.canvas import GAP, LETTER, NUMBER, PAGE, Canvas, enlargement, fit_largest
from ebmbench.report.figures.runs import ImageRun, first_array, read_image_runs
from ebmbench.report.figures.theme import write_png
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import variants
from ebmbench.report.results.kinds import kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image

SECTION = "samples"
ORDER = 20
HEADINGS = {"short": "short run", "long": "long run", "buffer": "buffer", "data": "from data"}
FEWEST = 3  # columns, or few kinds would fill the page
LINES = (2, 1)  # of images in a tile: as many as the size of the file allows
HEAD, BETWEEN = 24, 16  # pixels: above a tile, and between tiles

Tile = tuple[int, str, str, Any]  # column, words on the left and on the right, images (N, C, H, W) or None
Runs = dict[str, dict[str, ImageRun]]  # by kind and name


def draw(results: Results, folder: Path) -> list[Image]:
    """A gallery for each image dataset on which a method has samples."""
    return [image for dataset in results.image_datasets if (image := _gallery(results, dataset, folder)) is not None]


def _gallery(results: Results, dataset: str, folder: Path) -> Image | None:
    runs = {kind: read_image_runs(results, dataset, kind) for kind in kinds(results.frame, dataset)}
    found = {kind: {one.name: one for one in some if "images" in one.arrays} for kind, some in runs.items()}
    names = [name for name in variants(results.frame, dataset) if any(name in some for some in found.values())]
    methods = [name for name in names if not is_baseline(name)]
    if not methods:
        return None
    columns = share_columns({kind: some.keys() & set(methods) for kind, some in found.items()})
    references = _references(first_array(chain(*runs.values()), "real"), next(iter(found.values())))
    rows = [_row(found, columns, name) for name in methods]
    page, _ = fit_largest(lambda lines: draw_rows(columns, references, rows, lines), LINES)
    file = f"gallery-{dataset}.png"
    write_png(page, folder / file)
    return Image(
        f"figures/{file}",
        f"Images of {dataset}: {', '.join(name for _, name, _, _ in references)}, and samples of {', '.join(methods)}.",
        f"`{dataset}`: the first samples of each method's median run, unselected. Above each tile, its FID ratio.",
    )


def share_columns(names: Mapping[str, Set[str]]) -> list[list[str]]:
    """The kinds of each column; a kind joins one from the third on if no method has both."""
    columns: list[list[str]] = []
    for kind in (kind for kind in HEADINGS if names.get(kind)):
        free = [one for one in columns[2:] if not any(names[kind] & names[other] for other in one)]
        if free:
            free[0].append(kind)
        else:
            columns.append([kind])
    return columns


def _references(real: Any, runs: dict[str, ImageRun]) -> list[Tile]:
    """Real images, then the baselines, whose samples all kinds share."""
    known = [("real images", "", real)] if real is not None else []
    shown = [one for name, one in runs.items() if is_baseline(name) and name != "oracle"]
    known += [(one.name, one.quality, one.arrays["images"]) for one in shown]
    return [(place, *one) for place, one in enumerate(known)]


def _row(found: Runs, columns: list[list[str]], name: str) -> list[Tile]:
    """The method's name in the first column, and its tiles."""
    tiles: dict[int, Tile] = {0: (0, name, "", None)}
    for place, column in enumerate(columns):
        for kind in (kind for kind in column if name in found[kind]):
            one, aside = found[kind][name], f"{HEADINGS[kind]}, " if len(column) > 1 else ""
            tiles[place] = (place, name if place == 0 else "", f"{aside}{one.quality}", one.arrays["images"])
    return list(tiles.values())


def draw_rows(columns: list[list[str]], references: list[Tile], rows: list[list[Tile]], lines: int) -> Picture.Image:
    """References, the names of the kinds, and a row for each method; tiles have so many lines of images."""
    height, width = next(images.shape[-2:] for row in rows for *_, images in row if images is not None)
    scale, count = enlargement(width), max(len(columns), FEWEST)
    step_x, step_y = width * scale + GAP, height * scale + GAP
    across = max(1, (PAGE // count - BETWEEN) // step_x)
    wide = across * step_x + BETWEEN
    crowded = LETTER * max(len(row[0][1]) for row in rows) + NUMBER > wide  # then a name has a line of its own
    head = HEAD * (1 + crowded)
    high = head + lines * step_y + BETWEEN // 2
    above = -(-len(references) // count) * high
    page = Canvas(count * wide, above + HEAD + high * len(rows))

    def put(column: int, left: str, right: str, images: Any, top: int) -> None:
        x = column * wide + BETWEEN // 2
        page.write(left, x, top + HEAD - 6, bold=True, at="left")
        page.write(right, x + across * step_x - GAP, top + head - 6, at="right")
        for index, image in enumerate(images[: across * lines] if images is not None else ()):
            page.paste(image, x + index % across * step_x, top + head + index // across * step_y, scale)

    for place, name, quality, images in references:
        put(place % count, name, quality, images, place // count * high)
    for column, names in enumerate(columns):
        heading = " or ".join(HEADINGS[kind] for kind in names)
        page.write(heading, (column + 0.5) * wide, above + HEAD - 7, size=10.5)
    for line, row in enumerate(rows):
        for tile in row:
            put(*tile, above + HEAD + line * high)
    return page.image()

"""Build the report of a suite: collect, draw, write, and only then put it in place.

Everything is written into a new folder beside the old report, which is exchanged at the end, so that no
reader ever sees half a report and a build that fails leaves the old one as it was.
"""

import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.report.figures.classes import classes
from ebmbench.report.figures.cost import costs
from ebmbench.report.figures.densities import densities
from ebmbench.report.figures.gallery import gallery
from ebmbench.report.figures.health import health
from ebmbench.report.figures.image import Image
from ebmbench.report.figures.ranks import rank_figures
from ebmbench.report.figures.samples import samples
from ebmbench.report.figures.sweep import sweep
from ebmbench.report.figures.theme import themed
from ebmbench.report.figures.unrolled import unrolled
from ebmbench.report.page.html import write_page
from ebmbench.report.results.cells import versions_of
from ebmbench.report.results.curves import collect_curves, write_curves
from ebmbench.report.results.frame import collect
from ebmbench.report.results.groups import datasets, relevant
from ebmbench.report.results.kinds import is_image, kinds
from ebmbench.report.results.provenance import provenance
from ebmbench.report.results.samplers import all_sampled
from ebmbench.report.results.staleness import Present
from ebmbench.report.results.table import write_results
from ebmbench.report.sections.order import Images, assemble
from ebmbench.workspace.code_hash import text_of
from ebmbench.workspace.files import replace_folder
from ebmbench.workspace.layout import PARAMS_YAML, report_folder
from ebmbench.workspace.manifest import files_in, is_leftover

# What reports consist of, beside the figures that their pages name: all else in their folders is the user's.
PAGES = ("report.md", "claims.md")
FIGURE = re.compile(r"\((figures/[^)]+)\)")
WRITTEN = {*PAGES, "index.html", "results.csv", "curves.csv", "verdicts.csv", "values.csv", PARAMS_YAML}


def build(root: Path, params: dict[str, Any], out: Path | None = None) -> Path:
    """Write all files of the report into `out` (default `reports/<suite>/latest/`).

    `report.md` and the same as a page, `index.html`; `figures/`, `results.csv`, `curves.csv` and `params.yaml`.
    """
    out = out or report_folder(root, str(params["benchmark"]["suite"]))
    fresh = empty(out.with_name(f".{out.name}.new"))
    frame = collect(root, params)
    write_results(frame, fresh / "results.csv")
    frame = relevant(frame)
    curves = collect_curves(root, frame)
    if len(curves):
        write_curves(curves, fresh / "curves.csv")
    images = draw(root, frame, curves, fresh / "figures")
    present = Present(root, params)
    facts = provenance(root, present.suite, versions_of(present, frame))
    text = assemble(frame, params, images, all_sampled(root, frame), facts)
    if (root / PARAMS_YAML).is_file():
        (fresh / PARAMS_YAML).write_bytes(
            text_of(root / PARAMS_YAML)
        )  # what the numbers shown were made with, for `ebmbench compare`
    (fresh / "report.md").write_text(text, encoding="utf-8", newline="\n")
    write_page(fresh)
    exchange(fresh, out)
    return out


def draw(root: Path, frame: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Images:
    """All figures that the results allow."""
    images = Images()
    with themed():
        for dataset in datasets(frame):
            pictured = is_image(frame, dataset)
            (_draw_images if pictured else _draw_maps)(images, root, frame, dataset, folder)
            images.health += health(root, frame, dataset, folder)
        images.ranks += rank_figures(frame, folder)
        images.cost += costs(frame, curves, folder)
        images.sweep += _some(sweep(frame, folder))
    return images


def _draw_maps(images: Images, root: Path, frame: pd.DataFrame, dataset: str, folder: Path) -> None:
    images.densities += _some(densities(root, frame, dataset, folder))
    images.samples += _some(samples(root, frame, dataset, folder))


def _draw_images(images: Images, root: Path, frame: pd.DataFrame, dataset: str, folder: Path) -> None:
    for kind in kinds(frame, dataset):
        images.galleries += _some(gallery(root, frame, dataset, kind, folder))
        images.classes += _some(classes(root, frame, dataset, kind, folder))
    images.chains += _some(unrolled(root, frame, dataset, folder))


def _some(image: Image | None) -> list[Image]:
    return [] if image is None else [image]


def exchange(fresh: Path, out: Path) -> None:
    """Put `fresh` in the place of `out` by renaming, together with what somebody else has put there."""
    pages = [(out / page).read_text(encoding="utf-8") for page in PAGES if (out / page).is_file()]
    ours = WRITTEN | {name for page in pages for name in FIGURE.findall(page)}
    for name in files_in(out):
        if name not in ours and not is_leftover(name) and not (fresh / name).exists():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(out / name, fresh / name, follow_symlinks=False)
    replace_folder(fresh, out)


def empty(folder: Path) -> Path:
    """A new, empty folder in place of what an interrupted build may have left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder

"""Build the report of a suite: collect the results, draw the figures, write the sections, then put all in place.

Sections and figures are plug-ins: every file of `sections/` and `figures/` is found by listing its folder, so that a
new one is one new file (what it must hold is said in the `__init__` of each folder). Everything is written into a new
folder beside the old report, which is exchanged at the end: no reader sees half a report, and a build that fails leaves
the old one as it was. A partial or edited report goes to `draft/` beside `latest/`: it never takes the place of a full
one, which may be committed.
"""

import importlib
import pkgutil
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from ebmbench.config.schema import known
from ebmbench.errors import UserError
from ebmbench.report import figures, sections
from ebmbench.report.figures.theme import apply_theme
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.curves import write_curves
from ebmbench.report.results.frame import collect
from ebmbench.report.results.groups import drop_silent_baselines, variants
from ebmbench.report.results.header import Header, is_full
from ebmbench.report.results.kinds import kinds, select_kind
from ebmbench.report.results.suite import Results, collect_results
from ebmbench.report.results.table import write_results
from ebmbench.report.statistics.seeds import summarise
from ebmbench.report.text.images import Image, show_images
from ebmbench.report.text.words import fold
from ebmbench.workspace.code_hash import text_of
from ebmbench.workspace.files import replace_folder, write_json
from ebmbench.workspace.layout import DRAFT, LATEST, PARAMS_YAML, draft_folder, report_folder
from ebmbench.workspace.manifest import files_in, is_leftover, remove_empty

# The files of reports, beside the figures that their pages name: all else in their folders is the user's. Those before
# 0.9 have a page for the browser too.
PAGES = ("report.md", "claims.md")
FIGURE = re.compile(r"\((figures/[^)]+)\)")
SUMMARY = "summary.json"
WRITTEN = {*PAGES, SUMMARY, "index.html", "results.csv", "curves.csv", "verdicts.csv", "values.csv", PARAMS_YAML}


def build(root: Path, params: dict[str, Any], out: Path | None = None) -> Path:
    """Write all files of the report into `out` (default `reports/<suite>/latest/`, or `draft/`: `choose_folder`).

    These are `report.md`, `figures/`, `results.csv`, `curves.csv`, `summary.json`, which is what `dvc metrics` and
    `dvc exp show` show, and the `params.yaml` that the numbers were made with, for `ebmbench compare`.
    """
    frame = collect(root, params)
    results = collect_results(root, params, drop_silent_baselines(frame))
    out = out or choose_folder(root, results.header)
    fresh = make_empty_folder(out.with_name(f".{out.name}.new"))
    write_results(frame, fresh / "results.csv")
    if len(results.curves):
        write_curves(results.curves, fresh / "curves.csv")
    write_json(fresh / SUMMARY, summarise_suite(results))
    results = replace(results, images=draw(results, fresh / "figures"))
    if (root / PARAMS_YAML).is_file():
        (fresh / PARAMS_YAML).write_bytes(text_of(root / PARAMS_YAML))
    (fresh / "report.md").write_text(assemble(results), encoding="utf-8", newline="\n")
    exchange(fresh, out)
    return out


def summarise_suite(results: Results) -> dict[str, Any]:
    """The median over the seeds of the main metric, by dataset and method; of images by kind of samples too."""
    found: dict[str, Any] = {}
    for dataset in results.datasets:
        metric = results.main_metric_of(dataset)
        if dataset in results.image_datasets:
            parts = {kind: select_kind(results.frame, dataset, kind) for kind in kinds(results.frame, dataset)}
            found[dataset] = {kind: _medians(rows, dataset, metric) for kind, rows in parts.items()}
        else:
            found[dataset] = _medians(results.toys, dataset, metric)
    return found


def _medians(frame: pd.DataFrame, dataset: str, metric: str) -> dict[str, float]:
    methods = {name: rows for name, rows in variants(frame, dataset).items() if not is_baseline(name)}
    medians = {name: summarise(rows, metric).median for name, rows in methods.items()}
    return {name: value for name, value in medians.items() if value is not None}


def draw(results: Results, folder: Path) -> dict[str, list[Image]]:
    """Draw all figures that the results allow; by section, in the order of the figures."""
    images: dict[str, list[Image]] = {}
    with apply_theme(results.methods):
        for figure in find_figures():
            images.setdefault(figure.SECTION, []).extend(figure.draw(results, folder))
    return images


def assemble(results: Results) -> str:
    """The text of `report.md`: all sections in order, with all their figures; those with neither are left out.

    The heading of a folded section stays outside of its fold, so that links to it lead to what can be seen.
    """
    parts = [f"# ebmbench: suite `{results.params['benchmark']['suite']}`"]
    for section in find_sections():
        text = section.text(results)
        images = results.images.get(section_name(section), ())
        rest = show_images([image for image in images if f"({image.path})" not in text])
        body = "\n\n".join(filter(None, [text, rest]))
        summary = getattr(section, "FOLDED", "")
        heading = f"## {section.TITLE}" if section.TITLE and body else ""
        parts += filter(None, [heading, fold(summary, body) if summary and body else body])
    return "\n\n".join(parts) + "\n"


def find_sections() -> list[ModuleType]:
    """The sections, by their `ORDER` and then by name."""
    return _find_plugins(sections, ("TITLE", "ORDER", "text"))


def find_figures() -> list[ModuleType]:
    """The figures, by their `ORDER` and then by name; each must name a section that exists."""
    found, names = _find_plugins(figures, ("SECTION", "ORDER", "draw")), [section_name(one) for one in find_sections()]
    for figure in found:
        known(figure.SECTION, names, _path(figure), "SECTION")
    return found


def section_name(section: ModuleType) -> str:
    """What figures call a section: the name of its file."""
    return section.__name__.rpartition(".")[2]


def _find_plugins(package: ModuleType, required: Sequence[str]) -> list[ModuleType]:
    """The modules of a package that define what is required; one that defines a part of it is an error."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    missing = {one: [name for name in required if not hasattr(one, name)] for one in modules}
    for module, lacking in missing.items():
        if 0 < len(lacking) < len(required):
            raise UserError(f"{_path(module)}: found no {', '.join(lacking)}, allowed: all of {', '.join(required)}")
    return sorted((one for one in modules if not missing[one]), key=lambda one: one.ORDER)


def _path(module: ModuleType) -> str:
    return f"{module.__name__.replace('.', '/')}.py"


def choose_folder(root: Path, header: Header) -> Path:
    """`latest/`; but `draft/` for a report that is not full while the latest one is."""
    latest = report_folder(root, header.suite)
    return latest if header.extent == "full" or not is_full(latest) else draft_folder(root, header.suite)


def exchange(fresh: Path, out: Path) -> None:
    """Put `fresh` in the place of `out` by renaming, together with what somebody else has put there.

    The latest report takes the place of a draft too, which would pass for a newer one.
    """
    for name in sorted(set(files_in(out)) - _own_files(out)):
        if not is_leftover(name) and not (fresh / name).exists():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(out / name, fresh / name, follow_symlinks=False)
    replace_folder(fresh, out)
    if out.name == LATEST and (draft := out.with_name(DRAFT)).is_dir():
        for name in set(files_in(draft)) & _own_files(draft):
            (draft / name).unlink()
        remove_empty(draft)


def _own_files(folder: Path) -> set[str]:
    """The files that a report writes, with the figures that the pages in the folder name."""
    pages = [(folder / page).read_text(encoding="utf-8") for page in PAGES if (folder / page).is_file()]
    return WRITTEN | {name for page in pages for name in FIGURE.findall(page)}


def make_empty_folder(folder: Path) -> Path:
    """A new, empty folder in place of what an interrupted build may have left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder

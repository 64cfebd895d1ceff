"""Build the report of a suite: collect the results, draw the figures, write the sections, then put all in place.

Sections and figures are plug-ins: every file of `sections/` and `figures/` is found by listing its folder, so that a
new one is one new file (what it must hold is said in the `__init__` of each folder). Everything is written into a new
folder beside the old report, which is exchanged at the end: no reader sees half a report, and a build that fails leaves
the old one as it was.
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

from ebmbench.config.schema import known
from ebmbench.errors import UserError
from ebmbench.report import figures, sections
from ebmbench.report.figures.theme import apply_theme
from ebmbench.report.page.html import write_page
from ebmbench.report.results.curves import write_curves
from ebmbench.report.results.frame import collect
from ebmbench.report.results.groups import drop_silent_baselines
from ebmbench.report.results.suite import Results, collect_results
from ebmbench.report.results.table import write_results
from ebmbench.report.text.images import Image, show_images
from ebmbench.report.text.words import fold
from ebmbench.workspace.code_hash import text_of
from ebmbench.workspace.files import replace_folder
from ebmbench.workspace.layout import PARAMS_YAML, report_folder
from ebmbench.workspace.manifest import files_in, is_leftover

# The files of reports, beside the figures that their pages name: all else in their folders is the user's.
PAGES = ("report.md", "claims.md")
FIGURE = re.compile(r"\((figures/[^)]+)\)")
WRITTEN = {*PAGES, "index.html", "results.csv", "curves.csv", "verdicts.csv", "values.csv", PARAMS_YAML}


def build(root: Path, params: dict[str, Any], out: Path | None = None) -> Path:
    """Write all files of the report into `out` (default `reports/<suite>/latest/`).

    These are `report.md`, the same as a page (`index.html`), `figures/`, `results.csv`, `curves.csv` and the
    `params.yaml` that the numbers were made with, for `ebmbench compare`.
    """
    out = out or report_folder(root, str(params["benchmark"]["suite"]))
    fresh = make_empty_folder(out.with_name(f".{out.name}.new"))
    frame = collect(root, params)
    write_results(frame, fresh / "results.csv")
    results = collect_results(root, params, drop_silent_baselines(frame))
    if len(results.curves):
        write_curves(results.curves, fresh / "curves.csv")
    results = replace(results, images=draw(results, fresh / "figures"))
    if (root / PARAMS_YAML).is_file():
        (fresh / PARAMS_YAML).write_bytes(text_of(root / PARAMS_YAML))
    (fresh / "report.md").write_text(assemble(results), encoding="utf-8", newline="\n")
    write_page(fresh)
    exchange(fresh, out)
    return out


def draw(results: Results, folder: Path) -> dict[str, list[Image]]:
    """Draw all figures that the results allow; by section, in the order of the figures."""
    images: dict[str, list[Image]] = {}
    with apply_theme():
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


def exchange(fresh: Path, out: Path) -> None:
    """Put `fresh` in the place of `out` by renaming, together with what somebody else has put there."""
    pages = [(out / page).read_text(encoding="utf-8") for page in PAGES if (out / page).is_file()]
    ours = WRITTEN | {name for page in pages for name in FIGURE.findall(page)}
    for name in files_in(out):
        if name not in ours and not is_leftover(name) and not (fresh / name).exists():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(out / name, fresh / name, follow_symlinks=False)
    replace_folder(fresh, out)


def make_empty_folder(folder: Path) -> Path:
    """A new, empty folder in place of what an interrupted build may have left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder

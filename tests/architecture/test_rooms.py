"""The size of modules and folders: a module is one subject, and no crumb lies beside its only user."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 300  # lines of a module
CRUMB = 60  # lines below which a module with one importer belongs into that importer
CROWD = 13  # modules of a folder, plug-ins aside

FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts): file
    for top in ("ebmbench", "pipelines")
    for file in (ROOT / top).rglob("*.py")
    if file.name not in ("__init__.py", "__main__.py")
}
TEXTS = {name: file.read_text(encoding="utf-8") for name, file in FILES.items()}
# What a folder lists by itself (methods, metrics, sections of the report …) or DVC starts is imported by nobody.
PLUG_INS = {
    name
    for name, text in TEXTS.items()
    if any(f"\n{mark}" in text for mark in ("PAPER = ", "CLAIM = ", "TITLE = ", "SECTION = ", "if __name__ == "))
}


def importers() -> dict[str, set[str]]:
    """Who imports a module, lazily or not."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, text in TEXTS.items():
        for node in ast.walk(ast.parse(text)):
            names = (
                [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in names:
                if module in FILES and module != name:
                    found[module].add(name)
    return found


def test_a_module_is_one_subject() -> None:
    assert not {name: lines for name, text in TEXTS.items() if (lines := len(text.splitlines())) > LONGEST}


def test_no_crumb_lies_beside_its_only_importer() -> None:
    by = importers()
    small = {name for name, text in TEXTS.items() if len(text.splitlines()) < CRUMB} - PLUG_INS
    assert not {name: by[name] for name in small if len(by[name]) == 1}


def test_no_folder_is_crowded() -> None:
    folders: dict[str, list[str]] = defaultdict(list)
    for name in set(FILES) - PLUG_INS:
        folders[name.rpartition(".")[0]].append(name)
    assert not {folder: len(names) for folder, names in folders.items() if len(names) > CROWD}

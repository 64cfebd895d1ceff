"""The cells of the suite, the cells that a pattern selects, and the part of the graph that they need.

DVC names the stages of a cell `train@<dataset>-<method>`. Both names may contain a dash, so the text after the `@` is
looked up among the suite's cells and never split. A suite of claims has one stage per claim, `claim@<name>`, which is
selected by its name.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ebmbench.config.yaml import lookup, read_mapping
from ebmbench.errors import UserError, nearest
from ebmbench.workspace.layout import PARAMS_YAML, REPORT

Graph = dict[str, list[str]]
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def suite_cells(root: Path) -> dict[str, str]:
    """`dataset/method` of every cell, by the text that DVC writes after the `@`."""
    datasets, methods = _names(root)
    return {f"{dataset}-{method}": f"{dataset}/{method}" for dataset in datasets for method in methods}


def suite_claims(root: Path) -> list[str]:
    """The claims of the suite; a suite that has some has no cells."""
    benchmark = lookup(read_mapping(root / PARAMS_YAML), "benchmark") or {}
    return list(benchmark.get("claims") or [])


def check_names(root: Path) -> None:
    """Refuse names that a shell could misread: DVC puts them into commands, perhaps before the schema is checked."""
    datasets, methods = _names(root)
    declared = lookup(read_mapping(root / PARAMS_YAML), "datasets") or {}
    for name in [*datasets, *methods, *suite_claims(root), *declared]:
        if not _WORD.fullmatch(str(name)):
            raise UserError(f"params.yaml: found the name {name!r}, allowed: letters, digits and underscores")


def select_stages(root: Path, graph: Graph, only: Iterable[str]) -> Graph:
    """The part of the graph with the selected cells, all that they need, and the report."""
    items = {item for pattern in only for item in _match_items(root, pattern)}
    selected = {name for name in graph if name.partition("@")[2] in items}
    pending = list(selected)
    while pending:
        needed = set(graph[pending.pop()]) - selected
        selected |= needed
        pending += needed
    selected.add(REPORT)
    return {name: [up for up in graph[name] if up in selected] for name in graph if name in selected}


def match_cells(root: Path, pattern: str, source: str) -> set[str]:
    """The cells that METHOD, METHOD/DATASET or /DATASET selects, as DVC writes them after the `@`.

    `source` says where the pattern stands, for the error message.
    """
    datasets, methods = _names(root)
    method, _, dataset = pattern.partition("/")
    if method in datasets and method not in methods and (not dataset or dataset in methods):
        raise UserError(f"{source}: '{method}' is a dataset (did you mean '{dataset}/{method}'?)")
    matched = _match(source, "datasets", dataset, datasets)
    return {f"{one}-{other}" for one in matched for other in _match(source, "methods", method, methods)}


def _match_items(root: Path, pattern: str) -> set[str]:
    """The cells of a pattern, and their datasets' own stages: without baselines a number has no floor beside it."""
    source = f"--only {pattern}"
    if claims := suite_claims(root):
        return set(_match(source, "claims", pattern, claims))
    dataset = pattern.partition("/")[2]
    return match_cells(root, pattern, source) | set(_match(source, "datasets", dataset, _names(root)[0]))


def _match(source: str, kind: str, pattern: str, names: list[str]) -> list[str]:
    found = [name for name in names if fnmatchcase(name, pattern or "*")]
    if not found:
        raise UserError(f"{source}: {kind}: found '{pattern}', {nearest(pattern, names)}")
    return found


def _names(root: Path) -> tuple[list[str], list[str]]:
    benchmark = lookup(read_mapping(root / PARAMS_YAML), "benchmark") or {}
    return list(benchmark.get("datasets") or []), list(benchmark.get("methods") or [])

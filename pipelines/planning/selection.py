"""The suite's cells, which of them a user asks for, and the part of the graph that those need.

DVC names a cell's stages `train@<dataset>-<method>`. A name of either kind may hold a dash itself, so what follows
the `@` is looked up among the suite's cells and never taken apart. A suite of claims has one stage for each,
`claim@<name>`, which is asked for by its name.
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


def cells_of(root: Path) -> dict[str, str]:
    """`dataset/method` by what DVC writes after the `@`."""
    datasets, methods = _names(root)
    return {f"{dataset}-{method}": f"{dataset}/{method}" for dataset in datasets for method in methods}


def claims_of(root: Path) -> list[str]:
    """The claims of a suite that has them; it has no cells then."""
    benchmark = lookup(read_mapping(root / PARAMS_YAML), "benchmark") or {}
    return list(benchmark.get("claims") or [])


def require_words(root: Path) -> None:
    """DVC puts these names into commands that a shell reads; the parameters' own schema may not have been asked yet."""
    datasets, methods = _names(root)
    claims = claims_of(root)
    declared = lookup(read_mapping(root / PARAMS_YAML), "datasets") or {}
    for name in [*datasets, *methods, *claims, *declared]:
        if not _WORD.fullmatch(str(name)):
            raise UserError(f"params.yaml: found the name {name!r}, allowed: letters, digits and underscores")


def narrow(root: Path, graph: Graph, only: Iterable[str]) -> Graph:
    """The stages of the chosen cells, all that these need, and the report, whatever else it depends on."""
    items = {item for pattern in only for item in _items(root, pattern)}
    keep = {name for name in graph if name.partition("@")[2] in items}
    pending = list(keep)
    while pending:
        needed = set(graph[pending.pop()]) - keep
        keep |= needed
        pending += needed
    keep.add(REPORT)
    return {name: [up for up in graph[name] if up in keep] for name in graph if name in keep}


def cells_named(root: Path, pattern: str, asker: str) -> set[str]:
    """What DVC writes after the `@` of the cells that METHOD, METHOD/DATASET or /DATASET means."""
    datasets, methods = _names(root)
    method, _, dataset = pattern.partition("/")
    _mistaken_for_a_dataset(asker, pattern, methods, datasets)
    chosen = _match(asker, "datasets", dataset, datasets)
    return {f"{one}-{other}" for one in chosen for other in _match(asker, "methods", method, methods)}


def stages_of(item: str, kinds: Iterable[str]) -> list[str]:
    """The names of a cell's stages of these kinds."""
    return [f"{kind}@{item}" for kind in kinds]


def _items(root: Path, pattern: str) -> set[str]:
    """The cells of a pattern and, where it names all of a dataset, the dataset's own stages."""
    if claims := claims_of(root):
        return set(_match(f"--only {pattern}", "claims", pattern, claims))
    cells = cells_named(root, pattern, f"--only {pattern}")
    method, _, dataset = pattern.partition("/")
    whole = method in ("", "*")  # the baselines are rows of a dataset's table like any method
    return cells | {name for name in _names(root)[0] if whole and fnmatchcase(name, dataset or "*")}


def _match(asker: str, kind: str, part: str, names: list[str]) -> list[str]:
    found = [name for name in names if fnmatchcase(name, part or "*")]
    if not found:
        raise UserError(f"{asker}: {kind}: found '{part}', {nearest(part, names)}")
    return found


def _mistaken_for_a_dataset(asker: str, pattern: str, methods: list[str], datasets: list[str]) -> None:
    method, _, dataset = pattern.partition("/")
    if method in datasets and method not in methods and (not dataset or dataset in methods):
        raise UserError(f"{asker}: '{method}' is a dataset (did you mean '{dataset}/{method}'?)")


def _names(root: Path) -> tuple[list[str], list[str]]:
    benchmark = lookup(read_mapping(root / PARAMS_YAML), "benchmark") or {}
    return list(benchmark.get("datasets") or []), list(benchmark.get("methods") or [])

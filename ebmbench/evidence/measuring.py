"""Measuring a claim: every arm at every seed, each found again in `work/` by the digest of all that produces it.

That is the claim's name, arm and seed, and the code: what the claim's file imports, and the file itself without what
only decides and shows (`CLAIM`, `statistics`, `draw`), so that a new caption measures nothing again.
"""

import ast
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ebmbench.core.code import imported_files
from ebmbench.core.pulse import pulse
from ebmbench.core.registry import PACKAGE
from ebmbench.core.store import digest
from ebmbench.evidence.bench import Bench
from ebmbench.evidence.claim import Arms, open_claim

FILE = "measures.npz"
DECIDING = ("claim", "criterion", "deciding", "measuring")  # in this folder
SHOWING = ("CLAIM", "statistics", "draw", "PAPER", "YEAR")


def measured(name: str, seeds: Iterable[int], bench: Bench) -> list[Arms]:
    """What every arm gives at these seeds, seed by seed."""
    claim, seeds = open_claim(name), list(seeds)
    found: dict[tuple[int, str], Mapping[str, Any]] = {}
    for seed, arm in pulse.each((seed, arm) for seed in seeds for arm in claim.CLAIM.arms):
        found[seed, arm] = _obtained(name, arm, seed, bench)
    return [{arm: found[seed, arm] for arm in claim.CLAIM.arms} for seed in seeds]


def _obtained(name: str, arm: str, seed: int, bench: Bench) -> Mapping[str, Any]:
    key = digest({"claim": name, "arm": arm, "seed": seed, "code": measuring_hash(name), "torch": torch.__version__})

    def make(_: Path, result: Path) -> None:
        values = open_claim(name).measure(arm, seed, bench)
        np.savez(result / FILE, allow_pickle=False, **{key: np.asarray(value) for key, value in values.items()})

    with np.load(bench.store.obtain(key, make) / FILE, allow_pickle=False) as file:
        return dict(file)


def measuring_hash(name: str) -> str:
    """SHA-256 of the code that measures a claim."""
    own = PACKAGE / "claims" / f"{name}.py"
    whole = hashlib.sha256()
    for file in imported_files([f"ebmbench.claims.{name}"]):
        if _measures(file):
            tree = _without_docstrings(ast.parse(file.read_text(encoding="utf-8")))
            if file == own:
                tree.body = [node for node in tree.body if not _shows(node)]
            whole.update(f"{file.relative_to(PACKAGE).as_posix()}\n{ast.dump(tree)}\n".encode())
    return whole.hexdigest()


def _measures(file: Path) -> bool:
    """Not the report, which draws, nor what decides."""
    folder, name = file.relative_to(PACKAGE).parts[0], file.stem
    return folder != "report" and not (folder == "evidence" and name in DECIDING)


def _shows(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in SHOWING
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Name) and target.id in SHOWING


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree

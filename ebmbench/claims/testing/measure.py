"""Measuring a claim, every arm at every seed, and deciding it by the rule that was fixed before.

A measurement is found again in `work/` by its digest: the claim's name, arm, seed and code. The code is all that the
claim's file imports, and the file itself without what only decides and shows (`CLAIM`, `statistics`, `draw`): a new
caption measures nothing again.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, open_claim
from ebmbench.claims.testing.criterion import Finding, Verdict, combine_criteria, decide_criterion
from ebmbench.workspace.code_hash import PACKAGE, imported_files, tree_hash, versions
from ebmbench.workspace.progress import progress
from ebmbench.workspace.store import digest

FILE = "measures.npz"
DECIDING = ("claim.py", "criterion.py", "measure.py")  # in this folder
SHOWING = ("CLAIM", "statistics", "draw", "PAPER", "YEAR", "LINK")  # in the claim's file


@dataclass(frozen=True)
class Decision:
    """The verdict on a claim, with the finding of each criterion in the claim's order."""

    verdict: Verdict
    findings: tuple[Finding, ...]


def decide(name: str, seeds: Sequence[Arms]) -> Decision:
    """Decide a claim by the measurements at these seeds."""
    file = open_claim(name)
    numbers = [file.statistics(arms) for arms in seeds]
    criteria = file.CLAIM.criteria
    findings = tuple(decide_criterion(one, [row[one.key] for row in numbers], len(criteria)) for one in criteria)
    return Decision(combine_criteria(findings), findings)


def measure_claim(name: str, seeds: Iterable[int], bench: Bench) -> list[Arms]:
    """Measure every arm at these seeds, or find the measurements; one mapping for each seed."""
    claim, seeds, code = open_claim(name), list(seeds), measurement_hash(name)
    found: dict[tuple[int, str], Mapping[str, Any]] = {}
    grid = [(seed, arm) for seed in seeds for arm in claim.CLAIM.arms]
    # disable=None: a bar on a terminal, nothing in a log file.
    for seed, arm in tqdm(progress.each(grid), desc=name, total=len(grid), disable=None):
        inputs = {"claim": name, "arm": arm, "seed": seed, "code": code, "versions": versions()}
        found[seed, arm] = _obtain(inputs, bench)
    return [{arm: found[seed, arm] for arm in claim.CLAIM.arms} for seed in seeds]


def _obtain(inputs: Mapping[str, Any], bench: Bench) -> Mapping[str, Any]:
    def make(_: Path, result: Path) -> None:
        values = open_claim(inputs["claim"]).measure(inputs["arm"], inputs["seed"], bench)
        arrays = {key: np.asarray(value) for key, value in values.items()}
        assert all(array.dtype != object for array in arrays.values())  # which would be pickled
        np.savez(result / FILE, allow_pickle=False, **arrays)

    with np.load(bench.store.obtain(digest(inputs), make) / FILE, allow_pickle=False) as file:
        return dict(file)


def measurement_hash(name: str) -> str:
    """SHA-256 of the code that measures a claim."""
    own = PACKAGE / "claims" / f"{name}.py"
    whole = hashlib.sha256()
    for file in imported_files([f"ebmbench.claims.{name}"]):
        if _measures(file):
            code = tree_hash(file, SHOWING if file == own else ())
            whole.update(f"{file.relative_to(PACKAGE).as_posix()}\n{code}\n".encode())
    return whole.hexdigest()


def _measures(file: Path) -> bool:
    """Whether a file is part of the experiment: neither the report, which draws, nor what decides."""
    return PACKAGE / "report" not in file.parents and file not in [Path(__file__).with_name(name) for name in DECIDING]

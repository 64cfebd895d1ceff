"""The verdicts on a claim's criteria at a few seeds of the tests' own, measured here and now."""

from pathlib import Path
from types import ModuleType

import numpy as np

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms
from ebmbench.claims.testing.measure import decide
from ebmbench.workspace.store import Store

ROOT = Path(__file__).parents[2]
FIRST = 20_000  # far from the seeds that decide


def measures(claim: ModuleType, work: Path, seeds: int = 1) -> list[Arms]:
    """All arms at so many seeds; models are kept in `work`, measures nowhere, so that a planted bug is measured."""
    bench = Bench(ROOT)
    bench.store = Store(work)
    return [
        {
            arm: {key: np.asarray(value) for key, value in claim.measure(arm, seed, bench).items()}
            for arm in claim.CLAIM.arms
        }
        for seed in range(FIRST, FIRST + seeds)
    ]


def verdicts(claim: ModuleType, work: Path, seeds: int = 1) -> dict[str, str]:
    """The verdict on each criterion by its key."""
    name = claim.__name__.rpartition(".")[2]
    found = decide(name, measures(claim, work, seeds)).findings
    return {one.key: finding.verdict for one, finding in zip(claim.CLAIM.criteria, found, strict=True)}

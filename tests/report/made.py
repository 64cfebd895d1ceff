"""Results made in memory: of one metric, of one source at several budgets, of objectives crossed with samplers."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import COLUMNS, to_frame

Values = Mapping[str, Sequence[float | None]]  # by method; a run without a value diverged
NCE, DSM = [0.010, 0.011, 0.012], [0.5, 0.6, 0.7]
# nce wins up to 2 M, dsm at 8 M; one run of ssm diverged at 0.5 M, two at 2 M, all at 8 M.
TOY: dict[int, Values] = {
    500_000: {"nce": [0.10, 0.11, 0.12], "dsm": [1.0, 1.1, 1.2], "ssm": [2.0, 2.1, None]},
    2_000_000: {"nce": [0.05, 0.06, 0.07], "dsm": [0.5, 0.6, 0.7], "ssm": [None, 0.3, None]},
    8_000_000: {"nce": [0.05, 0.06, 0.07], "dsm": [0.008, 0.009, 0.0095], "ssm": [None, None, None]},
}
OBJECTIVES = {"mle": ("mle", ""), "cd": ("cd", "persistent=False"), "pcd": ("cd", "persistent=True")}
OBJECTIVES |= {"adance": ("adance", "")}
SAMPLERS = ("mala", "hmc", "independence", "tempering")
BY_SAMPLER = dict(zip(SAMPLERS, (0.0, 2.0, -1.0, 1.0), strict=True))
BY_OBJECTIVE = dict(zip(OBJECTIVES, (0.0, 0.3, 0.1, -0.2), strict=True))


def frame_of(of: Mapping[str, Values], metric: str = "kl", **shared: str) -> pd.DataFrame:
    """Results of one metric by dataset, as `results.csv` has them."""
    rows = [
        {"suite": "s", "dataset": dataset, "method": method, "seed": str(seed), "label": f"{method}/seed={seed}"}
        | {"status": "diverged", "verdict": "diverged", "steps": "9", "metric": metric, "direction": "lower"}
        | ({} if value is None else {"value": str(value), "status": "ok", "verdict": "ok"} | shared)
        for dataset, methods in of.items()
        for method, values in methods.items()
        for seed, value in enumerate(values)
    ]
    return to_frame(rows)


def results_of(by_budget: Mapping[int, Values], metric: str = "kl", **facts: Any) -> Results:
    """A suite with one source at these budgets."""
    names = {budget: f"toy_{budget // 1000}k" for budget in by_budget}
    frame = frame_of(
        {names[budget]: values for budget, values in by_budget.items()}, metric, samples="short" if facts else ""
    )
    entries = {
        name: {"source": "data/toy.py", "overrides": {"training": {"budget": budget}}} for budget, name in names.items()
    }
    params = {"benchmark": {"metrics": ["kl"]}, "datasets": entries}
    return Results(frame.assign(seconds_train=2.0), params, facts=dict.fromkeys(names.values(), facts) if facts else {})


def run(method: str, settings: str, seed: int, value: float, dataset: str = "two_moons") -> dict[str, object]:
    """A row of the results; a run without a finite value diverged."""
    good = math.isfinite(value)
    row = dict.fromkeys(COLUMNS, "") | {"suite": "chains", "dataset": dataset, "method": method, "settings": settings}
    row |= {"seed": seed, "label": f"{settings}/seed={seed}", "metric": "kl", "direction": "lower"}
    return row | {"status": "ok" if good else "diverged", "value": value if good else None, "samples": ""}


def crossed_table(
    wiggle: tuple[float, ...] = (0.0, 0.0), scale: float = 1.0, dataset: str = "two_moons", lost: int = 0
) -> pd.DataFrame:
    """log KL is the sum of both effects and what the seed adds; the first `lost` runs diverged."""
    rows = []
    for (key, (method, own)), sampler in product(OBJECTIVES.items(), SAMPLERS):
        settings = ", ".join(filter(None, [own, f"sampler={sampler}"]))
        level = scale * BY_SAMPLER[sampler] + BY_OBJECTIVE[key]
        rows += [run(method, settings, seed, math.exp(level + one), dataset) for seed, one in enumerate(wiggle)]
    for row in rows[:lost]:
        row |= {"status": "diverged", "value": None}
    rows.append(run("oracle", "", 0, 1e-6, dataset))
    return pd.DataFrame(rows).astype({"value": float})

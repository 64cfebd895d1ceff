"""The results of a small suite of machines of binary units, as far as their figures read them."""

from pathlib import Path

import numpy as np
import pandas as pd

from ebmbench.report.results.suite import Results

VARIANTS = ("model=rbm, sampler=tempering", "model=dbm, sampler=tempering")


def write_cell(root: Path) -> Results:
    """Two variants of mle with two seeds each; the machines of the second have no hidden units."""
    rows, arrays = [], {"real": np.zeros((20, 1, 8, 8), np.uint8)}
    for settings in VARIANTS:
        for seed, value in ((0, -20.0), (1, -30.0)):
            label = f"{settings.replace(', ', '/')}/seed={seed}"
            row = {"suite": "s", "dataset": "binary_digits", "method": "mle", "settings": settings, "seed": seed}
            row |= {"label": label, "status": "ok", "metric": "variational_bound", "samples": "", "value": value}
            row |= {"steps": 1000 if "rbm" in settings else 250, "direction": "higher"}
            rows.append(row)
            arrays[f"units:{label}"] = np.full((20, 1, 8, 8), 40 + 100 * seed, np.uint8)
    arrays[f"fields:{VARIANTS[0].replace(', ', '/')}/seed=1"] = np.full((16, 1, 8, 8), 128, np.uint8)
    cell = root / "runs/s/binary_digits/mle"
    cell.mkdir(parents=True)
    np.savez(cell / "pictures.npz", **arrays)
    params = {"benchmark": {"suite": "s", "metrics": ["variational_bound"]}}
    return Results(pd.DataFrame(rows), params, root, {"binary_digits": {"binary": True}})

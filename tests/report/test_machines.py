"""Figures of binary images: whose arrays there are, in panels of their names; none of other data."""

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from ebmbench.report.figures import machines
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
            rows.append(row)
            arrays[f"units:{label}"] = np.full((20, 1, 8, 8), 40 + 100 * seed, np.uint8)
    arrays[f"fields:{VARIANTS[0].replace(', ', '/')}/seed=1"] = np.full((16, 1, 8, 8), 128, np.uint8)
    cell = root / "runs/s/binary_digits/mle"
    cell.mkdir(parents=True)
    np.savez(cell / "pictures.npz", **arrays)
    params = {"benchmark": {"suite": "s", "metrics": ["variational_bound"]}}
    return Results(pd.DataFrame(rows), params, root, {"binary_digits": {"binary": True}})


def test_there_is_a_figure_of_samples_and_one_of_fields(tmp_path: Path) -> None:
    found = machines.draw(write_cell(tmp_path), tmp_path / "figures")
    assert [image.path for image in found] == [f"figures/{part}-binary_digits.png" for part in ("units", "fields")]
    assert "real, mle rbm tempering, mle dbm tempering" in found[0].alt
    assert found[1].alt.endswith("binary_digits: mle rbm tempering")
    page = np.asarray(Image.open(tmp_path / found[0].path).convert("L"))
    assert (page == 140).sum() >= 2 * 20 * 32 * 32  # the median run of two is the lower one, seed 1


def test_data_that_are_not_binary_have_none(tmp_path: Path) -> None:
    results = write_cell(tmp_path)
    assert machines.draw(Results(results.frame, results.params, tmp_path, {}), tmp_path) == []

"""The run that is shown of each method: the median run by a metric, with the arrays of its `pictures.npz`."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import RATIO, variants
from ebmbench.report.results.kinds import EXACT, select_kind
from ebmbench.report.results.suite import Results
from ebmbench.workspace.layout import BASELINES, cell_folder

# Arrays of a run, named `<array>:<label>:<kind>` in the file, and those that all runs of a dataset share.
OWN = ("images", "chain", "chain_steps", "histogram")
SHARED = ("real", "classes")

Array = NDArray[np.generic]


@dataclass(frozen=True)
class ImageRun:
    """One method's median run by FID ratio, of one kind of samples; any of the arrays may be missing."""

    name: str
    label: str
    ratio: float | None
    rows: pd.DataFrame
    arrays: dict[str, Array] = field(default_factory=dict)

    @property
    def seed(self) -> str:
        """`seed 2`."""
        return f"seed {self.label.rpartition('seed=')[2]}"

    @property
    def quality(self) -> str:
        """Its FID ratio as text."""
        return f"{self.ratio:.3g}" if self.ratio is not None else "–"

    def value(self, metric: str) -> float | None:
        """A metric of this run."""
        found = self.rows.loc[(self.rows["label"] == self.label) & (self.rows["metric"] == metric), "value"].dropna()
        return float(found.iloc[0]) if len(found) else None


def median_run(rows: pd.DataFrame, metric: str) -> tuple[str, float | None]:
    """Label and value of a method's median run, the lower middle one of an even number.

    Without any value it is the first good run, and without a good run the label is empty.
    """
    ok = rows[rows["status"] == "ok"]
    scored = ok[(ok["metric"] == metric) & ok["value"].notna()].sort_values(["value", "seed"])
    if len(scored):
        row = scored.iloc[(len(scored) - 1) // 2]
        return str(row["label"]), float(row["value"])
    return (str(ok["label"].iloc[0]), None) if len(ok) else ("", None)


def read_image_runs(results: Results, dataset: str, kind: str) -> list[ImageRun]:
    """The runs of a dataset with samples of a kind, baselines first; methods without a good run are left out."""
    found = []
    for name, rows in variants(select_kind(results.frame, dataset, kind), dataset).items():
        label, ratio = median_run(rows, RATIO)
        if label:
            suffix = f":{label}:{EXACT if is_baseline(name) else kind}"
            wanted = {key: key for key in SHARED} | {key + suffix: key for key in OWN}
            arrays = read_pictures(results, rows, wanted)
            found.append(ImageRun(name, label, ratio, rows, {wanted[stored]: one for stored, one in arrays.items()}))
    return found


def read_pictures(results: Results, rows: pd.DataFrame, wanted: Iterable[str]) -> dict[str, Array]:
    """Of these arrays, those that the cell has that the rows belong to."""
    suite, dataset, method = (str(rows[column].iloc[0]) for column in ("suite", "dataset", "method"))
    cell = cell_folder(results.root, suite, dataset, BASELINES if is_baseline(method) else method)
    file = cell / "pictures.npz"
    if not file.is_file():
        return {}
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in wanted if name in stored.files}


def first_array(runs: Iterable[ImageRun], name: str) -> Array | None:
    """An array that all cells of a dataset share, from the first that has it."""
    return next((one.arrays[name] for one in runs if name in one.arrays), None)

"""Which run of a method is shown on image data, and what there is of it: the median run by FID ratio of a kind of
samples, with the arrays of `pictures.npz` that belong to it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ebmbench.report.figures.maps import median_run
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import RATIO, variants
from ebmbench.report.results.kinds import EXACT, slice_of
from ebmbench.workspace.layout import BASELINES, cell_folder

# What a run may have, named `<what>:<label>:<kind>` in the file.
WHAT = ("images", "chain", "chain_steps", "histogram")
SHARED = ("real", "classes")


@dataclass(frozen=True)
class Shown:
    """One method's run; `arrays` are by what they hold, any may be missing."""

    name: str
    label: str
    ratio: float | None
    rows: pd.DataFrame
    arrays: dict[str, NDArray[np.generic]] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """What stands below the name."""
        score = f"FID ratio {self.ratio:.3g}, " if self.ratio is not None else ""
        return f"{score}seed {self.label.rpartition('seed=')[2]}"

    def value(self, metric: str) -> float | None:
        """A metric of this run."""
        found = self.rows.loc[(self.rows["label"] == self.label) & (self.rows["metric"] == metric), "value"].dropna()
        return float(found.iloc[0]) if len(found) else None


def shown(root: Path, frame: pd.DataFrame, dataset: str, kind: str) -> list[Shown]:
    """The runs of a dataset with samples of a kind, baselines first; a method without a good run is not there."""
    found = []
    for name, rows in variants(slice_of(frame, dataset, kind), dataset).items():
        label, ratio = median_run(rows, RATIO)
        if label:
            folder = BASELINES if is_baseline(name) else str(rows["method"].iloc[0])
            file = cell_folder(root, str(rows["suite"].iloc[0]), dataset, folder) / "pictures.npz"
            found.append(Shown(name, label, ratio, rows, _arrays(file, label, EXACT if is_baseline(name) else kind)))
    return found


def first_of(found: Iterable[Shown], what: str) -> NDArray[np.generic] | None:
    """What all cells of a dataset share, from the first that has it."""
    return next((one.arrays[what] for one in found if what in one.arrays), None)


def _arrays(file: Path, label: str, kind: str) -> dict[str, NDArray[np.generic]]:
    if not file.is_file():
        return {}
    wanted = {name: name for name in SHARED} | {what: f"{what}:{label}:{kind}" for what in WHAT}
    with np.load(file, allow_pickle=False) as stored:
        return {what: stored[key] for what, key in wanted.items() if key in stored.files}

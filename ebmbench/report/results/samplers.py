"""Which sampler drew the samples of which method: most share the suite's, some bring their own.

It is read from `sample/<run>/diagnostics.json`, where sampling wrote what it did, by kind of samples (older files have
one kind, and no name for it). A run without that file is not spoken of.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.cells import read_json
from ebmbench.report.results.kinds import KINDS, image_sets, toys
from ebmbench.workspace.layout import cell_folder

Sampled = dict[str, list[str]]  # names by sampler
PLANE = "plane"  # the key of data that are not images


def sampler_of(root: Path, run: Mapping[str, str], kind: str = "long") -> str:
    """The sampler of a run (`suite`, `dataset`, `method`, `label`); empty if nobody wrote it down."""
    cell = cell_folder(root, run["suite"], run["dataset"], run["method"])
    told = read_json(cell / "sample" / run["label"] / "diagnostics.json")
    flat = told if kind == "long" else {}
    found = told.get(kind, flat)
    return str(found.get("sampler", "")) if isinstance(found, dict) else ""


def sampled(root: Path, frame: pd.DataFrame, kind: str = "long") -> Sampled:
    """The methods of a suite by sampler, both in the order in which they come."""
    good = frame[(frame["status"] == "ok") & ~frame["method"].map(is_baseline).astype(bool)]
    keys = ["suite", "dataset", "method", "label"]
    runs = good[keys].drop_duplicates().to_dict("records")
    return by_sampler((str(run["method"]), sampler_of(root, run, kind)) for run in runs)


def all_sampled(root: Path, frame: pd.DataFrame) -> dict[str, Sampled]:
    """The same for images by kind, and for all other data under `PLANE`."""
    pictured = frame[frame["dataset"].isin(image_sets(frame))]
    return {PLANE: sampled(root, toys(frame))} | {kind: sampled(root, pictured, kind) for kind in KINDS}


def by_sampler(pairs: Iterable[tuple[str, str]]) -> Sampled:
    """Pairs of a name and a sampler as names by sampler, each once; pairs without a sampler are left out."""
    found: dict[str, dict[str, None]] = {}
    for name, sampler in pairs:
        if sampler:
            found.setdefault(sampler, {})[name] = None
    return {sampler: list(names) for sampler, names in found.items()}

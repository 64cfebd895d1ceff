"""Which sampler drew the samples of which method: most methods share the suite's, some bring their own.

Sampling writes it to `sample/<run>/diagnostics.json`, by kind of samples; older files are flat and speak of long runs.
Runs without that file are left out.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.cells import read_json_or_empty
from ebmbench.report.results.kinds import KINDS
from ebmbench.report.results.suite import Results
from ebmbench.workspace.layout import cell_folder

Sampled = dict[str, list[str]]  # methods by sampler
TOYS = "toys"  # the key of data that are not images


def read_sampler(root: Path, run: Mapping[str, str], kind: str = "long") -> str:
    """The sampler of a run (`suite`, `dataset`, `method`, `label`); empty if it is not written down."""
    cell = cell_folder(root, run["suite"], run["dataset"], run["method"])
    diagnostics = read_json_or_empty(cell / "sample" / run["label"] / "diagnostics.json")
    found = diagnostics.get(kind, diagnostics if kind == "long" else {})
    return str(found.get("sampler", "")) if isinstance(found, dict) else ""


def read_samplers(root: Path, frame: pd.DataFrame, kind: str = "long") -> Sampled:
    """The methods of a frame by sampler, both in the order in which they come."""
    good = frame[(frame["status"] == "ok") & ~frame["method"].map(is_baseline).astype(bool)]
    keys = ["suite", "dataset", "method", "label"]
    runs = good[keys].drop_duplicates().to_dict("records")
    return group_by_sampler((str(run["method"]), read_sampler(root, run, kind)) for run in runs)


def read_all_samplers(results: Results) -> dict[str, Sampled]:
    """The methods of a suite by sampler: on images for each kind of samples, on all other data under `TOYS`."""
    images = results.frame[results.frame["dataset"].isin(results.image_datasets)]
    found = {kind: read_samplers(results.root, images, kind) for kind in KINDS}
    return {TOYS: read_samplers(results.root, results.toys), **found}


def group_by_sampler(pairs: Iterable[tuple[str, str]]) -> Sampled:
    """Pairs of a name and a sampler as names by sampler, each once; pairs without a sampler are left out."""
    found: dict[str, dict[str, None]] = {}
    for name, sampler in pairs:
        if sampler:
            found.setdefault(sampler, {})[name] = None
    return {sampler: list(names) for sampler, names in found.items()}

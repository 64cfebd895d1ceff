"""Which sampler drew the samples of which method: most share the suite's, some bring their own.

It is read from `sample/<run>/diagnostics.json`, where sampling wrote what it did. A run without that file is not
spoken of.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ebmbench.report.cells import read_json
from ebmbench.report.groups import is_baseline

Sampled = dict[str, list[str]]  # names by sampler


def sampler_of(root: Path, run: Mapping[str, str]) -> str:
    """The sampler of a run (`suite`, `dataset`, `method`, `label`); empty if nobody wrote it down."""
    cell = root / "runs" / run["suite"] / run["dataset"] / run["method"]
    return str(read_json(cell / "sample" / run["label"] / "diagnostics.json").get("sampler", ""))


def sampled(root: Path, frame: pd.DataFrame) -> Sampled:
    """The methods of a suite by sampler, both in the order in which they come."""
    good = frame[(frame["status"] == "ok") & ~frame["method"].map(is_baseline).astype(bool)]
    keys = ["suite", "dataset", "method", "label"]
    runs = good[keys].drop_duplicates().to_dict("records")
    return by_sampler((str(run["method"]), sampler_of(root, run)) for run in runs)


def by_sampler(pairs: Iterable[tuple[str, str]]) -> Sampled:
    """Pairs of a name and a sampler as names by sampler, each once; pairs without a sampler are left out."""
    found: dict[str, dict[str, None]] = {}
    for name, sampler in pairs:
        if sampler:
            found.setdefault(sampler, {})[name] = None
    return {sampler: list(names) for sampler, names in found.items()}

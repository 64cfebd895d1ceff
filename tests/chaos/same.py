"""Whether two clones hold the same results, but for what the clock and the machine's memory say."""

from pathlib import Path

import pandas as pd

from ebmbench.report.results.table import TIMINGS

RESULTS = "reports/tiny/latest/results.csv"


def differences(one: Path, other: Path) -> list[str]:
    """What differs: files of all cells by their bytes, the report's numbers without seconds and memory."""
    ours, theirs = _files(one), _files(other)
    found = [f"only in one: {name}" for name in sorted(ours.keys() ^ theirs.keys())]
    found += [f"differs: {name}" for name in sorted(ours.keys() & theirs.keys()) if ours[name] != theirs[name]]
    if not any(name.endswith("metrics.json") for name in ours):
        found.append("there are no metrics to compare")
    return found if _numbers(one).equals(_numbers(other)) else [*found, f"differs: {RESULTS}"]


def _files(root: Path) -> dict[str, bytes]:
    """Models, samples, histories, rows, metrics; costs are of the machine."""
    files = (path for path in (root / "runs").rglob("*") if path.is_file() and not path.name.startswith("."))
    named = {path.relative_to(root).as_posix(): path for path in files}
    return {name: path.read_bytes() for name, path in named.items() if "cost" not in name}


def _numbers(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / RESULTS).drop(columns=list(TIMINGS))

"""What did not work, with reasons: a failure is a result and is shown like one."""

import pandas as pd

from ebmbench.report.results.cells import LOST, OTHERWISE
from ebmbench.report.results.frame import variant
from ebmbench.report.results.kinds import KINDS, SAID, image_sets
from ebmbench.report.sections.verdicts import merged, shape
from ebmbench.report.text.escaping import literal
from ebmbench.report.text.tables import markdown_table, title


def failure_table(frame: pd.DataFrame) -> str:
    """Cells without valid numbers and runs that diverged or were skipped; `None.` if all went well."""
    bad = frame[frame["status"] != "ok"].drop_duplicates(["dataset", "method", "label"])
    rows = [
        [
            f"`{one.dataset}`",
            title(variant(one.method, one.settings)),
            _which(one.seed),
            one.status,
            literal(one.reason),
        ]
        for one in bad.itertuples()
    ]
    return markdown_table(["dataset", "method", "run", "what", "reason"], rows, left=5) if rows else "None."


def missing_table(frame: pd.DataFrame) -> str:
    """Values that good runs could not give, by reason, whatever its numbers; empty if there are none."""
    gaps = frame[(frame["status"] == "ok") & (frame["metric"] != "") & frame["value"].isna()]
    pictured = gaps["dataset"].isin(image_sets(frame))
    gaps = gaps.assign(kind=gaps["samples"].where(pictured & gaps["samples"].isin(KINDS), ""))
    gaps = gaps.assign(shape=gaps["reason"].map(shape))
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for (metric, kind, _), part in gaps.groupby(["metric", "kind", "shape"], sort=False):
        methods = ", ".join(dict.fromkeys(title(name) for name in _names(part)))
        sets = ", ".join(f"`{name}`" for name in dict.fromkeys(part["dataset"]))
        of = f" of {SAID[str(kind)]}" if kind else ""
        (reason,) = merged(part["reason"])
        found.setdefault((of, methods, sets, literal(reason) or "no reason given"), []).append(f"`{metric}`")
    rows = [[", ".join(metrics) + of, *rest] for (of, *rest), metrics in found.items()]
    return markdown_table(["metrics", "methods", "datasets", "reason"], rows, left=4) if rows else ""


def tally(frame: pd.DataFrame) -> dict[str, int]:
    """How many trained runs ended how, and how many cells have no valid numbers."""
    bad_cells = frame["status"].isin(LOST)
    runs = frame[~bad_cells & frame["steps"].notna()].drop_duplicates(["dataset", "method", "label"])
    counts = runs["status"].value_counts()
    found = {status: int(counts.get(status, 0)) for status in ("ok", "diverged", "skipped")}
    return found | {status: int((frame["status"] == status).sum()) for status in LOST}


def stale_line(frame: pd.DataFrame) -> str:
    """How many cells are stale and what to do about it; empty if none is."""
    stale = tally(frame)["stale"]
    if not stale:
        return ""
    count, it, them = ("1 cell is", "its", "it") if stale == 1 else (f"{stale} cells are", "their", "them")
    return f"{count} stale: {it} numbers were {OTHERWISE}, so they are not shown; `ebmbench run` makes {them} anew."


def _names(rows: pd.DataFrame) -> list[str]:
    return [variant(method, settings) for method, settings in zip(rows["method"], rows["settings"], strict=True)]


def _which(seed: object) -> str:
    return "all" if pd.isna(seed) else f"seed {seed}"

"""What did not work, with reasons: a failure is a result and is shown like one."""

import pandas as pd

from ebmbench.report.results.cells import NOT_RUN
from ebmbench.report.results.frame import variant
from ebmbench.report.results.kinds import KINDS, SAMPLES
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import describe_cells_not_run, describe_stale_cells
from ebmbench.report.text.escaping import escape_text
from ebmbench.report.text.tables import format_name, markdown_table
from ebmbench.report.text.words import fold, mask_numbers, merge_sentences

TITLE = "Failures and skipped"
ORDER = 120


def text(results: Results) -> str:
    """Cells and runs without numbers, then values that good runs could not give."""
    missing = _missing_values(results)
    gaps = fold("Values that good runs could not give", missing) if missing else ""
    cells = [describe_cells_not_run(results.frame), describe_stale_cells(results.frame)]
    return "\n\n".join(filter(None, [*cells, _lost_runs(results.frame), gaps]))


def _lost_runs(frame: pd.DataFrame) -> str:
    """Cells without valid numbers and runs that diverged or were skipped; `None.` if all went well."""
    bad = frame[~frame["status"].isin(["ok", NOT_RUN])].drop_duplicates(["dataset", "method", "label"])
    rows = [
        [
            f"`{one.dataset}`",
            format_name(variant(one.method, one.settings)),
            "all" if pd.isna(one.seed) else f"seed {one.seed}",
            one.status,
            escape_text(one.reason),
        ]
        for one in bad.itertuples()
    ]
    return markdown_table(["dataset", "method", "run", "what", "reason"], rows, left=5) if rows else "None."


def _missing_values(results: Results) -> str:
    """Missing values by reason, whatever the numbers in it; empty if there are none."""
    frame = results.frame
    gaps = frame[(frame["status"] == "ok") & (frame["metric"] != "") & frame["value"].isna()]
    of_images = gaps["dataset"].isin(results.image_datasets) & gaps["samples"].isin(KINDS)
    gaps = gaps.assign(kind=gaps["samples"].where(of_images, ""), form=gaps["reason"].map(mask_numbers))
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for (metric, kind, _), part in gaps.groupby(["metric", "kind", "form"], sort=False):
        names = [variant(*pair) for pair in zip(part["method"], part["settings"], strict=True)]
        methods = ", ".join(dict.fromkeys(format_name(name) for name in names))
        sets = ", ".join(f"`{name}`" for name in dict.fromkeys(part["dataset"]))
        of = f" of {SAMPLES[str(kind)]}" if kind else ""
        (reason,) = merge_sentences(part["reason"])
        found.setdefault((of, methods, sets, escape_text(reason) or "no reason given"), []).append(f"`{metric}`")
    rows = [[", ".join(metrics) + of, *rest] for (of, *rest), metrics in found.items()]
    return markdown_table(["metrics", "methods", "datasets", "reason"], rows, left=4) if rows else ""

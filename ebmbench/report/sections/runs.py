"""What was compared, with which budget and seeds, how the runs ended, and how their health was judged."""

import pandas as pd

from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import count_side, count_statuses, count_verdicts, describe_stale_cells
from ebmbench.report.text.numbers import format_count, plural
from ebmbench.report.text.words import list_names

TITLE = ""
ORDER = 5
OVERSHOOT = 1.02  # the last step of a run may take it a little beyond its budget


def text(results: Results) -> str:
    """One paragraph; seeds are those that ran, whatever was asked for."""
    frame, methods, sets = results.frame, results.methods, results.datasets
    seeds = sorted(set(frame.loc[frame["method"].isin(methods), "seed"].dropna()))
    each = f", {plural(len(seeds), 'seed')} ({', '.join(map(str, seeds))}) each" if seeds else ""
    what = f"{plural(len(methods), 'method')} ({list_names(methods)}) on {plural(len(sets), 'dataset')}"
    parts = [f"{what} ({list_names(sets)}){each}.", _budget(frame), _ending(frame), _health(frame)]
    return " ".join(filter(None, parts))


def _budget(frame: pd.DataFrame) -> str:
    """The passes of the runs that reached their end: the fewest and the most on each dataset."""
    ended = frame[(frame["status"] == "ok") & (frame["metric"] == "passes") & frame["steps"].notna()]
    groups = ended.dropna(subset="value").groupby("dataset", sort=False)["value"]
    found = {str(dataset): (float(values.min()), float(values.max())) for dataset, values in groups}
    if not found:
        return ""
    low, high = min(low for low, _ in found.values()), max(high for _, high in found.values())
    if high <= OVERSHOOT * low:
        return f"Every run had the same budget, {format_count(low)} network passes."
    if all(most <= OVERSHOOT * fewest for fewest, most in found.values()):
        sets: dict[str, list[str]] = {}
        for dataset, (fewest, _) in found.items():
            sets.setdefault(format_count(fewest), []).append(dataset)
        each = ", ".join(f"{passes} on {list_names(names)}" for passes, names in sets.items())
        return f"Every run on a dataset had the same budget of network passes: {each}."
    return f"Runs took between {format_count(low)} and {format_count(high)} network passes."


def _ending(frame: pd.DataFrame) -> str:
    ends = count_statuses(frame)
    total = ends["ok"] + ends["diverged"] + ends["skipped"]
    bad = [f"{ends[status]} {status}" for status in ("diverged", "skipped") if ends[status]]
    mixed = f"Of {plural(total, 'run')}, {ends['ok']} reached their end and {' and '.join(bad)}."
    runs = mixed if bad else "The only run reached its end." if total == 1 else f"All {total} runs reached their end."
    cells = ends["failed"] + ends["stale"]
    without = f"{plural(cells, 'cell')} {'has' if cells == 1 else 'have'} no" if total else "No run has"
    lost = f"{without} valid numbers, [for reasons given below](#failures-and-skipped)." if cells else ""
    return " ".join(filter(None, [runs if total else "", lost, describe_stale_cells(frame)]))


def _health(frame: pd.DataFrame) -> str:
    """The verdicts of the runs, unless they repeat how the runs ended."""
    words = count_verdicts(frame)
    if set(words) <= {"ok", "diverged", "skipped"}:
        return ""
    sides = {side: count_side(frame, side) for side in ("density", "sampler")}
    named = {f"{side} ": found for side, found in sides.items() if found} or {"": words}
    told = [f"{what}{', '.join(f'{count} {word}' for word, count in found.items())}" for what, found in named.items()]
    return f"[Health](#health-of-the-runs): {'; '.join(told)}."

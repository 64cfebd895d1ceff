"""The first paragraph: what was compared, how the runs ended, who leads, and where a baseline beats them all."""

from collections.abc import Sequence

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import LIKELIHOODS, RATIO, datasets, short_name, variants
from ebmbench.report.results.kinds import KINDS, SAMPLES, kinds, select_kind
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import count_side, count_statuses, count_verdicts, describe_stale_cells
from ebmbench.report.statistics.seeds import Summary, summarise
from ebmbench.report.text.numbers import choose_decimals, format_count, format_interval, format_number, plural
from ebmbench.report.text.tables import find_best
from ebmbench.report.text.words import list_names

TITLE = ""
ORDER = 0
OVERSHOOT = 1.02  # the last step of a run may take it a little beyond its budget


def text(results: Results) -> str:
    """One paragraph; seeds are those that ran, whatever was asked for."""
    frame, methods, sets = results.frame, results.methods, results.datasets
    seeds = sorted(set(frame.loc[frame["method"].isin(methods), "seed"].dropna()))
    each = f", with {plural(len(seeds), 'seed')} ({', '.join(map(str, seeds))}) for each" if seeds else ""
    compared = (
        f"This report compares {plural(len(methods), 'method')} of training an energy-based model "
        f"({list_names(methods)}) on {plural(len(sets), 'dataset')} ({list_names(sets)}){each}."
    )
    parts = [compared, _budget(frame), _ending(frame), _health(frame), _leaders(results), *_defeats(frame)]
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
        return f"Every run had the same budget, {format_count(low)} network passes, whatever the time it took."
    if all(most <= OVERSHOOT * fewest for fewest, most in found.values()):
        each = ", ".join(f"{format_count(fewest)} on `{dataset}`" for dataset, (fewest, _) in found.items())
        return f"Every run on a dataset had the same budget of network passes, whatever the time it took: {each}."
    return f"Runs took between {format_count(low)} and {format_count(high)} network passes."


def _ending(frame: pd.DataFrame) -> str:
    ends = count_statuses(frame)
    total = ends["ok"] + ends["diverged"] + ends["skipped"]
    bad = [f"{ends[status]} {status}" for status in ("diverged", "skipped") if ends[status]]
    mixed = f"Of {plural(total, 'run')}, {ends['ok']} ended well and {' and '.join(bad)}."
    runs = mixed if bad else f"Every run ({total} in all) ended well."
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
    named = {f"their {side}": found for side, found in sides.items() if found} or {"their health": words}
    told = [
        f"by {what}, {', '.join(f'{count} {word}' for word, count in found.items())}" for what, found in named.items()
    ]
    return f"[Health](#health-of-the-runs) of the runs: {'; '.join(told)}."


def _leaders(results: Results) -> str:
    """Who is best or ties with the best: in the main metric, of images within each kind of samples."""
    frame, sentences = results.frame, []
    for metric, toys in results.toys_by_metric.items():
        winners = {dataset: find_best(toys, dataset, metric) for dataset in datasets(toys)}
        sentences.append(_best_by(short_name(metric), winners, results.methods))
    for kind in KINDS:
        sets = [dataset for dataset in results.image_datasets if kind in kinds(frame, dataset)]
        winners = {dataset: find_best(select_kind(frame, dataset, kind), dataset, RATIO) for dataset in sets}
        sentences.append(_best_by(f"{short_name(RATIO)} of {SAMPLES[kind]}", winners, results.methods))
    return " ".join(filter(None, sentences))


def _best_by(what: str, winners: dict[str, set[str]], methods: list[str]) -> str:
    """On how many datasets each method leads; empty if nothing is decided."""
    decided = [{name.split(" ")[0] for name in names} for names in winners.values() if names]
    wins = {method: sum(method in names for names in decided) for method in methods}
    first, *rest = sorted((name for name in wins if wins[name]), key=lambda name: -wins[name]) or [""]
    if not first:
        return ""
    others = "".join(f", `{name}` on {wins[name]}" for name in rest)
    return f"By {what}, `{first}` is best or tied with the best on {plural(wins[first], 'dataset')}{others}."


def _defeats(frame: pd.DataFrame) -> list[str]:
    """A sentence for each dataset and baseline whose likelihood is above that of every method; the oracle's must be."""
    found = []
    for dataset in datasets(frame):
        rows_of = variants(frame, dataset)
        for metrics in LIKELIHOODS:
            known = {name: one for name, rows in rows_of.items() if (one := _likelihood(rows, metrics)).values}
            methods = {name: one for name, one in known.items() if not is_baseline(name)}
            baselines = [name for name in known if is_baseline(name) and name != "oracle"]
            found += [_defeat(dataset, name, known[name], methods) for name in baselines if methods]
    return found


def _likelihood(rows: pd.DataFrame, metrics: Sequence[str]) -> Summary:
    """The first of these metrics that has values, or else the last."""
    found = [summarise(rows, metric) for metric in metrics]
    return next((one for one in found if one.values), found[-1])


def _defeat(dataset: str, baseline: str, bar: Summary, methods: dict[str, Summary]) -> str:
    """Empty if some method is above the baseline; one that lost runs counts by those it has."""
    best = max(methods, key=lambda name: methods[name].mean or 0.0)
    highest, one = bar.mean or 0.0, methods[best]
    if (one.mean or 0.0) >= highest:
        return ""
    places = choose_decimals([highest, one.mean])
    return (
        f"**On `{dataset}` the {baseline} baseline beats every method in log-likelihood**: it has "
        f"{format_number(highest, places)} nats, the best method (`{best}`) "
        f"{format_interval(one.mean, one.half, places)}."
    )

"""Where methods stand on a dataset: the main metric, its median over the seeds, and the rank by it.

The main metric of a dataset is the first of the suite on toys and the FID ratio on images, for each kind of samples on
its own; where no method has a value of it (as on data without a known density), a log-likelihood or the first metric
that has values. Ranks are of medians, as *At a glance* prints them; seeds may not tell neighbours apart. A run that
gave no value counts as worse than any that did, and a value beyond the oracle's as the oracle's.
"""

import math
from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.config.schema import read_yaml
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import LIKELIHOODS, RATIO, metrics, short_name, variants
from ebmbench.report.results.kinds import KINDS, kinds, mask_other_kinds
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import load_results
from ebmbench.report.statistics.seeds import Summary, summarise
from ebmbench.report.text.numbers import format_number
from ebmbench.report.text.tables import COLUMNS
from ebmbench.workspace.layout import PARAMS_YAML

BETTER = ("lower", "higher")
FIRST_KIND = "short"  # of images, where a method has several
LOST = {"diverged", "failed"}


@dataclass(frozen=True)
class Ranking:
    """The main metric of a dataset, of one kind of samples on images, and how every method did."""

    dataset: str
    metric: str
    kind: str
    summaries: dict[str, Summary]
    losses: dict[str, float]  # medians over all runs, smaller is better


@dataclass(frozen=True)
class Standing:
    """One method on one dataset; `value` is None without any, `best` is the method at the top, or else the second."""

    dataset: str
    method: str
    metric: str
    samples: str
    value: float | None
    runs: int
    valued: int
    rank: int
    methods: int
    best: str | None
    best_value: float | None


def find_rankings(results: Results, dataset: str) -> list[Ranking]:
    """The rankings on a dataset: one, or one for each kind of samples of images; none if there is no value at all."""
    frame = results.frame[results.frame["dataset"] == dataset]
    if dataset not in results.image_datasets:
        masked = mask_other_kinds(frame, "long")
        found = (_rank(masked, dataset, metric, "") for metric in _candidates(results.main_metric, frame))
        return [one for one in [next(filter(None, found), None)] if one]
    order = sorted(kinds(frame, dataset), key=lambda kind: (kind != FIRST_KIND, KINDS.index(kind)))
    return [one for kind in order if (one := _rank(mask_other_kinds(frame, kind), dataset, RATIO, kind))]


def _candidates(main: str, frame: pd.DataFrame) -> dict[str, None]:
    """The metrics that may be the main one of points, best first."""
    likelihoods = (name for group in LIKELIHOODS for name in group)
    return dict.fromkeys([main, *likelihoods, *metrics(frame, first=())])


def _rank(frame: pd.DataFrame, dataset: str, metric: str, kind: str) -> Ranking | None:
    """The methods that have a value, or lost all their runs; None if none has a value that could be better."""
    found = variants(frame[COLUMNS], dataset)
    part = {name: summarise(rows, metric) for name, rows in found.items() if not is_baseline(name)}
    truth = summarise(found["oracle"], metric) if "oracle" in found else None
    taking = {name: one for name, one in part.items() if one.values or set(found[name]["status"]) <= LOST}
    if not any(one.values and one.direction in BETTER for one in taking.values()):
        return None
    fair = {name: one.no_better_than(truth) if truth else one for name, one in taking.items()}
    return Ranking(dataset, metric, kind, taking, {name: one.loss for name, one in fair.items()})


def describe_cells(report: Path, cells: Container[str]) -> list[dict[str, Any]]:
    """The standings of some cells (`dataset/method`) in the report of a folder, each with the line that says it."""
    params = read_yaml(report / PARAMS_YAML) if (report / PARAMS_YAML).is_file() else {}
    results = Results(load_results(report), params)
    found = [one for dataset in results.datasets for one in find_standings(results, dataset)]
    chosen = [one for one in found if f"{one.dataset}/{one.method.split(' ')[0]}" in cells]
    return [{**asdict(one), "line": describe_standing(one)} for one in chosen]


def find_standings(results: Results, dataset: str) -> Iterator[Standing]:
    """The standing of each method (with its settings) on a dataset, in the first ranking that it takes part in."""
    rankings = find_rankings(results, dataset)
    for name in dict.fromkeys(name for one in rankings for name in one.summaries):
        yield _standing(next(one for one in rankings if name in one.summaries), name)


def _standing(ranking: Ranking, name: str) -> Standing:
    losses = ranking.losses
    rank = 1 + sum(loss < losses[name] for loss in losses.values())
    rivals = sorted((other for other in losses if other != name), key=losses.__getitem__)
    best = rivals[0] if rivals and math.isfinite(losses[rivals[0]]) else None
    own, top = ranking.summaries[name], ranking.summaries[best].median if best else None
    place = (ranking.dataset, name, ranking.metric, ranking.kind)
    return Standing(*place, own.median, own.runs, len(own.values), rank, len(losses), best, top)


def describe_standing(one: Standing) -> str:
    """One line: `ed/two_moons KL 0.0048, 3rd of 8; nce 0.0033`."""
    title = short_name(one.metric) + (f" ({one.samples})" if one.samples else "")
    share = f" ({one.valued}/{one.runs} runs)" if 0 < one.valued < one.runs else ""
    value = f"{format_number(one.value)}{share}" if one.valued else "without a value, all runs lost"
    line = f"{one.method}/{one.dataset} {title} {value}"
    if one.methods == 1:
        return f"{line}, the only method"
    behind = "next " if one.rank == 1 else ""
    rival = f"; {behind}{one.best} {format_number(one.best_value)}" if one.best else ""
    return f"{line}, {ordinal(one.rank)} of {one.methods}{rival}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"

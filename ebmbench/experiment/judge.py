"""Judging a model by the chosen metrics, and the files in which the numbers are kept.

One judgement is a folder: `judgement.json`, `picture.npz`, `cost.json`. A cell's judgements are collected into
`metrics.json` (numbers by run, for `dvc metrics`; of images by kind of samples too), `rows.csv` (the same, tidy, with
errors and protocol) and `pictures.npz` (small arrays for the figures: the report needs neither torch nor models).
"""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ebmbench.config.registry import entries, load
from ebmbench.config.sections import Metrics
from ebmbench.core.dataset import load_facts
from ebmbench.data.common.densities import Density
from ebmbench.errors import UserError
from ebmbench.experiment.pictures import frame, gallery, picture, real
from ebmbench.experiment.verdict import Verdict
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.training.run import peak_memory
from ebmbench.workspace.files import (
    Arrays,
    load_arrays,
    read_json,
    save_arrays,
    sha256_of,
    write_csv,
    write_json,
)
from ebmbench.workspace.layout import PARAMS_YAML

COLUMNS = ["suite", "dataset", "method", "settings", "seed", "label", "digest", "status", "verdict", "verdict_reason"]
COLUMNS += ["reason", "metric", "samples", "value", "error", "n", "direction", "protocol"]

Values = dict[tuple[str, str], Value]
"""By metric and kind of samples; the kind is empty for metrics that need none."""
Evaluations = Mapping[str, Evaluation]
"""By kind of samples; a model without any has one, of kind ""."""


def judge(evaluations: Evaluations, metrics: Iterable[str]) -> Values:
    """Every metric's value, of each kind of samples apart if it judges samples; one that cannot be had says why."""
    whole = _whole(evaluations)
    values: Values = {}
    for name in metrics:
        judged = evaluations if entries("metrics")[name].samples else {"": whole}
        values |= {(name, kind): _compute(evaluation, name) for kind, evaluation in judged.items()}
    return values


def extractor_inputs(features: Path, settings: Metrics, root: Path) -> dict[str, Any]:
    """What names the features that images are judged on: the classifier's status, and the weights of Inception."""
    status, weights = features / "status.json", settings.inception_weights
    if weights is not None and not (root / weights).is_file():
        raise UserError(f"{PARAMS_YAML}: metrics.inception_weights: found {weights!r}, but there is no such file")
    return {
        "classifier": read_json(status) if status.is_file() else None,
        "inception": None if weights is None else sha256_of(root / weights),
    }


def _compute(evaluation: Evaluation, metric: str) -> Value:
    try:
        value: Value = load("metrics", metric).compute(evaluation)
    except Unavailable as reason:
        return Value(reason=str(reason), fault=reason.fault)
    if value.value is not None and not math.isfinite(value.value):
        return Value(reason=f"{metric} is {value.value}", protocol=value.protocol)
    return value


def said(one: Verdict) -> dict[str, str]:
    """A verdict as cells of a row."""
    return {"verdict": one.word, "verdict_reason": one.reason}


def leave(
    result: Path, run: dict[str, Any], values: Values, evaluations: Evaluations, films: Arrays, clock: float
) -> None:
    """Write one judgement; `run` holds label, digest, status, verdict and the like; `clock` is when it began."""
    rows = [{**run, **_cells(metric, kind, value, run)} for (metric, kind), value in values.items()]
    write_json(result / "judgement.json", rows)
    save_arrays(result / "picture.npz", _pictures(evaluations, run["label"], films))
    seconds = round(time.perf_counter() - clock, 3)
    write_json(result / "cost.json", {"seconds": seconds, "peak_memory_mb": peak_memory()})


def _pictures(evaluations: Evaluations, label: str, films: Arrays) -> Arrays:
    if not evaluations:
        return {}
    whole = _whole(evaluations)
    if whole.facts.is_image:
        return gallery(evaluations, label, films)
    return picture(whole, label) if whole.facts.shape == [2] else {}


def _whole(evaluations: Evaluations) -> Evaluation:
    """The evaluation for all that needs no samples, or shows one kind of them: that of the long runs."""
    return evaluations.get("long") or next(iter(evaluations.values()))


def _cells(metric: str, kind: str, value: Value, run: dict[str, Any]) -> dict[str, Any]:
    cells = {"metric": metric, "samples": kind, **asdict(value), "reason": value.reason or run["reason"] or ""}
    del cells["fault"]  # is in the verdict
    return cells | {"direction": direction(metric)}


def direction(metric: str) -> str:
    """Which way is better: as the metric's file says, and lower for counts of evaluations."""
    known = entries("metrics").get(metric)
    return known.direction if known else "lower"


def collect(folder: Path, shared: dict[str, str], done: dict[str, Path], data: Path, density: Density | None) -> None:
    """Write a cell's files from the judgements of its runs by label; `data` is the dataset's folder."""
    facts = load_facts(data)
    judged = {label: read_json(run / "judgement.json") for label, run in done.items()}
    several = len({row["samples"] for rows in judged.values() for row in rows} - {""}) > 1
    by_kind = facts.is_image or several
    write_json(folder / "metrics.json", {label: _flat(rows, by_kind) for label, rows in judged.items()})
    write_rows(folder / "rows.csv", [{**shared, **row} for rows in judged.values() for row in rows])
    arrays = real(facts, data) if facts.is_image else frame(facts, density) if facts.shape == [2] else {}
    for run in done.values():
        arrays |= load_arrays(run / "picture.npz")
    save_arrays(folder / "pictures.npz", arrays)


def _flat(rows: list[dict[str, Any]], by_kind: bool) -> dict[str, Any]:
    """One run for `dvc metrics`: names and numbers, no lists; `by_kind` puts metrics of samples below their kind."""
    flat: dict[str, Any] = {key: rows[0][key] for key in ("digest", "status", "verdict")} if rows else {}
    for row in rows:
        place = flat.setdefault(row["samples"], {}) if by_kind and row["samples"] else flat
        place[row["metric"]] = row["value"]
    return flat


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """The CSV that the report reads; floats are written so that they read back the same."""
    write_csv(path, COLUMNS, rows)

"""The files in which judgements are kept.

One judgement is a folder: `judgement.json`, `picture.npz`, `cost.json`. A cell's judgements are collected into
`metrics.json` (numbers by run; of images by kind of samples too), `rows.csv` (the same, tidy, with
errors and protocol) and `pictures.npz` (small arrays for the figures: the report needs neither torch nor models).
"""

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ebmbench.config.registry import entries
from ebmbench.core.dataset import load_facts
from ebmbench.data.common.densities import Density
from ebmbench.experiment.pictures import Evaluations, draw_dataset, draw_model
from ebmbench.experiment.verdict import Values, Verdict
from ebmbench.metrics.common.evaluation import Value
from ebmbench.training.run import peak_memory
from ebmbench.workspace.files import Arrays, load_arrays, read_json, save_arrays, write_csv, write_json

COLUMNS = ["suite", "dataset", "method", "settings", "seed", "label", "digest", "status", "verdict", "verdict_reason"]
COLUMNS += ["density_verdict", "sampler_verdict"]
COLUMNS += ["reason", "metric", "samples", "value", "error", "n", "direction", "protocol"]
CURVE_COLUMNS = ["label", "metric", "samples", "passes", "value", "reason"]

Row = dict[str, Any]


def write_judgement(
    result: Path, run: Row, health: Verdict, values: Values, evaluations: Evaluations, films: Arrays, clock: float
) -> None:
    """Write one judgement; `run` holds the label, digest, status and so on; `clock` is when judging began."""
    run = {**run, "verdict": health.word, "verdict_reason": health.reason}
    run |= {"density_verdict": health.density, "sampler_verdict": health.sampler}
    rows = [{**run, **_cells(metric, kind, value, run)} for (metric, kind), value in values.items()]
    write_json(result / "judgement.json", rows)
    save_arrays(result / "picture.npz", draw_model(evaluations, run["label"], films))
    seconds = round(time.perf_counter() - clock, 3)
    write_json(result / "cost.json", {"seconds": seconds, "peak_memory_mb": peak_memory()})


def _cells(metric: str, kind: str, value: Value, run: Row) -> Row:
    cells = {"metric": metric, "samples": kind, **asdict(value), "reason": value.reason or run["reason"] or ""}
    del cells["fault"]  # is in the verdict
    known = entries("metrics").get(metric)
    return cells | {
        "direction": known.direction if known else "lower"
    }  # of counts, which are no metrics, less is better


def collect(folder: Path, shared: dict[str, str], done: dict[str, Path], data: Path, density: Density | None) -> None:
    """Write a cell's files from the judgements of its runs by label; `data` is the dataset's folder."""
    facts = load_facts(data)
    judged = {label: read_json(run / "judgement.json") for label, run in done.items()}
    several = len({row["samples"] for rows in judged.values() for row in rows} - {""}) > 1
    by_kind = facts.is_image or several
    write_json(folder / "metrics.json", {label: _flat(rows, by_kind) for label, rows in judged.items()})
    write_csv(folder / "rows.csv", COLUMNS, [{**shared, **row} for rows in judged.values() for row in rows])
    arrays = draw_dataset(facts, data, density)
    for run in done.values():
        arrays |= load_arrays(run / "picture.npz")
    save_arrays(folder / "pictures.npz", arrays)


def collect_curves(path: Path, done: Mapping[str, Path]) -> None:
    """Write the learning curves of a cell's runs, by label, as one CSV."""
    curves = {label: read_json(run / "curve.json") for label, run in done.items()}
    write_csv(path, CURVE_COLUMNS, [{"label": label, **row} for label, rows in curves.items() for row in rows])


def _flat(rows: list[Row], by_kind: bool) -> Row:
    """One run: names and numbers, no lists; `by_kind` puts metrics of samples below their kind."""
    flat: Row = (
        {key: rows[0][key] for key in ("digest", "status", "verdict", "density_verdict", "sampler_verdict")}
        if rows
        else {}
    )
    for row in rows:
        place = flat.setdefault(row["samples"], {}) if by_kind and row["samples"] else flat
        place[row["metric"]] = row["value"]
    return flat

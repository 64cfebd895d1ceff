"""How the main metric, the first of the suite, came down during training: its value at each snapshot, and at the end.

Weights are averaged and the learning rate is on its way to zero, so a point is not what a run with that smaller budget
would have reached. Toys are integrated on half as many cells an axis as at the end; images are judged by short runs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ebmbench.config.registry import entries
from ebmbench.experiment.judge import Values, judge
from ebmbench.metrics.common.evaluation import Evaluation
from ebmbench.training.trained import load
from ebmbench.workspace.cell import SNAPSHOT_KIND, passes_of, snapshots
from ebmbench.workspace.files import write_csv

COLUMNS = ["label", "metric", "samples", "passes", "value", "reason"]

Row = dict[str, Any]


def curve(run: Path, samples: Path, evaluations: Mapping[str, Evaluation], values: Values, main: str) -> list[Row]:
    """Rows of one run: `run` is its folder below `train/`, `samples` that below `sample/`, `values` are of its end."""
    kind = SNAPSHOT_KIND if entries("metrics")[main].samples else ""
    passes = values.get(("passes", ""))
    if (main, kind) not in values or passes is None:
        return []
    template = evaluations[kind] if kind else next(iter(evaluations.values()))
    points = {passes_of(file): judge({kind: at(file, samples, template)}, [main]) for file in snapshots(run)}
    found = {taken: judged[main, kind] for taken, judged in {**points, int(passes.value or 0): values}.items()}
    shared = {"metric": main, "samples": kind}
    return [{**shared, "passes": taken, "value": one.value, "reason": one.reason} for taken, one in found.items()]


def at(file: Path, samples: Path, template: Evaluation) -> Evaluation:
    """The evaluation of a snapshot, as the template's is of the end."""
    trained = load(file).double()
    drawn = samples / f"{file.stem}.npy"
    x = torch.from_numpy(np.load(drawn, allow_pickle=False)) if drawn.exists() else None
    energy = trained.judged if trained.has_energy else None
    subject = replace(template.subject, energy=energy, score=trained.score, samples=x, trace=None)
    settings = template.settings.model_copy(update={"cells": max(16, template.settings.cells // 2)})
    return replace(template, subject=subject, settings=settings)


def write_curves(path: Path, curves: Mapping[str, Iterable[Row]]) -> None:
    """One CSV for the runs of a cell, by label."""
    write_csv(path, COLUMNS, ({"label": label, **row} for label, rows in curves.items() for row in rows))

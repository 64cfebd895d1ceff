"""One run from Python, without a project: `ebmbench.train("dsm", "two_moons")`, then `ebmbench.evaluate(model)`.

Both call what the stages call, with the settings of `suites/defaults.yaml`, so they give the numbers of a stage with
the same settings and seed. What training writes on its way is in a temporary folder, which is removed.
"""

import tempfile
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from ebmbench.config.params import Params
from ebmbench.config.registry import load, names
from ebmbench.config.schema import check, known, read_yaml
from ebmbench.config.sections import Dataset
from ebmbench.errors import UserError, nearest
from ebmbench.experiment.data import Data, open_data
from ebmbench.experiment.judge import aiming, compute_metrics
from ebmbench.experiment.runs import Run
from ebmbench.experiment.samples import draw
from ebmbench.experiment.sweep import cell_settings
from ebmbench.metrics.common.evaluation import Evaluation, Subject
from ebmbench.training.job import Job
from ebmbench.training.run import train as train_job
from ebmbench.training.trained import Trained
from ebmbench.workspace.code_hash import PACKAGE
from ebmbench.workspace.files import save_array
from ebmbench.workspace.layout import DEFAULTS

Events = str | np.ndarray | Tensor
ROOT = PACKAGE.parent
OWN = "mine"  # what data of the user's own are called, unless they say otherwise
COLUMNS = ["metric", "samples", "value", "error", "n", "reason", "protocol"]


def train(
    method: str, data: Events, *, seed: int = 0, budget: int | None = None, name: str = OWN, **settings: Any
) -> Trained:
    """Train one model: `train("dsm", "two_moons", budget=200_000, sigma=0.1)`.

    `data` is the name of a dataset, or an array `(N, d)` of your own, of which a fifth is held out for the test, as of
    a file `<name>.npy`; `name` names its random streams. `budget` counts network passes. All other settings are those
    of the method (`params.yaml: methods`). The same arguments give the same model. If training diverges there is a
    warning, and the model is the last healthy one.
    """
    known(method, names("methods"), "ebmbench.train", "method")
    opened = _open(data, name)
    params = _params(opened.facts.name)
    section = {**params.methods.get(method, {}), **settings}
    check(load("methods", method).Settings, section, "ebmbench.train", method)
    params = params.model_copy(update={"methods": {method: section}})
    chosen, model, _ = next(iter(cell_settings(params, method)))
    training = params.training.model_copy(update={"snapshots": []} | ({} if budget is None else {"budget": budget}))
    check(type(training), training.model_dump(), "ebmbench.train", "")
    with tempfile.TemporaryDirectory() as folder:
        workshop, result = Path(folder, "workshop"), Path(folder, "result")
        workshop.mkdir()
        result.mkdir()
        job = Job(method, chosen, {}, seed, training, model, opened.facts)
        train_job(job, opened.train, workshop, result, labels=opened.train_labels)
        return _trained(Run(result))


def evaluate(
    model: Trained, metrics: Sequence[str] | None = None, data: Events | None = None, *, chains: int | None = None
) -> pd.DataFrame:
    """Judge a model by metrics of the benchmark: `evaluate(model, ["kl", "mmd"]).loc["kl", "value"]`.

    A row for each metric, by default all that the suites have for these data; a value that is missing has a reason.
    Give the array that the model was trained on, if it was one of your own. `chains` is the number of samples that are
    drawn for metrics that need some. Features of images need a classifier, which only the stages train.
    """
    opened = _open(model.facts.name if data is None else data, model.facts.name)
    if opened.facts.hash != model.facts.hash:
        raise UserError(f"ebmbench.evaluate: {model!r} was trained on other data; give them: evaluate(model, data=…)")
    params = _params(opened.facts.name)
    chosen = params.benchmark.metrics if metrics is None else metrics
    for metric in chosen:
        known(metric, names("metrics"), "ebmbench.evaluate", "metrics")
    sampling = params.sampling if chains is None else params.sampling.model_copy(update={"chains": chains})
    needs = {need for metric in chosen for need in getattr(load("metrics", metric), "NEEDS", ("samples",))}
    kinds = sampling.kinds if needs & {"samples", "trace"} else []
    drawn = {kind: draw(_copy(model), kind, sampling, opened.test) for kind in kinds}
    samples = {kind: one for kind, one in drawn.items() if one is not None}
    subject = replace(aiming(_copy(model), opened.density), learned=model.header["outcome"]["learned"])
    if (long := samples.get("long")) is not None and long.trace is not None:
        subject = replace(subject, trace=long.trace.stacked(), traced=tuple(long.trace.names))
    subjects: dict[str, Subject] = {
        kind: replace(subject, samples=one.x, sampler=one.sampler, kind=kind) for kind, one in samples.items()
    }
    evaluations = {
        kind: Evaluation(
            one, opened.test, opened.density, opened.facts, params.metrics, opened.train, labels=opened.test_labels
        )
        for kind, one in (subjects or {"": subject}).items()
    }
    values = compute_metrics(evaluations, chosen)
    rows = [{"metric": metric, "samples": kind, **asdict(value)} for (metric, kind), value in values.items()]
    return pd.DataFrame(rows, columns=COLUMNS).set_index("metric")


def _open(data: Events, name: str) -> Data:
    """A dataset of the benchmark, or an array as if it were read from a file."""
    if isinstance(data, str):
        datasets = _defaults().datasets
        if data not in datasets:
            raise UserError(f"ebmbench: found the dataset {data!r}, {nearest(data, datasets)}, or an array (N, d)")
        return open_data(data, datasets[data], ROOT)
    with tempfile.TemporaryDirectory() as folder:
        save_array(Path(folder, f"{name}.npy"), np.asarray(data))
        return open_data(name, Dataset(source=f"{name}.npy"), Path(folder))


def _trained(run: Run) -> Trained:
    status, reason = run.status["status"], run.status["reason"]
    if status == "skipped":
        raise UserError(f"ebmbench.train: {reason}")
    if status == "diverged":
        warnings.warn(f"training diverged ({reason}); the model is the last healthy one", stacklevel=3)
    return run.trained


def _copy(model: Trained) -> Trained:
    """Another object, in the precision of training: judging turns its network to float64."""
    return Trained(deepcopy(model.network).float(), model.header, model.chains)


def _params(dataset: str) -> Params:
    """The values that hold on a dataset."""
    return _defaults().on(dataset) if dataset in _defaults().datasets else _defaults()


@cache
def _defaults() -> Params:
    return check(Params, read_yaml(ROOT / DEFAULTS), DEFAULTS)

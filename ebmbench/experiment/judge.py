"""Judging models by metrics: runs that were trained, and baselines that nobody trained.

A judgement is a folder that `judgement.py` writes, named in `work/` by the model, its samples, data, metrics and code.
"""

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ebmbench.config.registry import choose_main_metric, entries, load
from ebmbench.config.sections import KINDS, Metrics
from ebmbench.core.dataset import load_facts, read_labels, read_split
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Density
from ebmbench.data.common.sources import Truth
from ebmbench.experiment.data import Data
from ebmbench.experiment.judgement import Row, write_judgement
from ebmbench.experiment.pictures import COMPLETIONS, Evaluations, main_evaluation
from ebmbench.experiment.standard import Standard, describe_features
from ebmbench.experiment.verdict import Control, Values, Verdict, verdict
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable, Value
from ebmbench.metrics.common.flow import Flow
from ebmbench.metrics.common.shared import Shared
from ebmbench.training.trained import Trained
from ebmbench.training.trained import load as load_run
from ebmbench.workspace.cell import SNAPSHOT_KIND, TRACE, passes_of, snapshots
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import load_arrays, read_json, sha256_of, write_json
from ebmbench.workspace.progress import progress
from ebmbench.workspace.store import Store, digest

COUNTS = ("energy_evaluations", "input_gradients", "parameter_gradients", "passes", "flops")


def compute_metrics(evaluations: Evaluations, metrics: Iterable[str]) -> Values:
    """Every metric's value, for each kind of samples if it judges samples; a missing value has a reason."""
    main = main_evaluation(evaluations)
    values: Values = {}
    for name in progress.parts(metrics):
        judged = evaluations if entries("metrics")[name].samples else {"": main}
        values |= {(name, kind): _compute(evaluation, name) for kind, evaluation in judged.items()}
    return values


def _compute(evaluation: Evaluation, metric: str) -> Value:
    try:
        value: Value = load("metrics", metric).compute(evaluation)
    except Unavailable as reason:
        return Value(reason=str(reason), fault=reason.fault)
    if value.value is not None and not math.isfinite(value.value):
        return Value(reason=f"{metric} is {value.value}", protocol=value.protocol)
    return value


def subject_of(trained: Trained, samples: Tensor | None = None) -> Subject:
    """A trained model, in float64, as metrics see it; its flow is solved in float32, in which it was trained.

    That is twice as fast, and moves log q by 10⁻⁵ (`tests/identities/test_flow.py`).
    """
    flow = None
    if trained.levels is not None and len(trained.levels) > 1:
        network, (narrowest, widest) = deepcopy(trained.network).float(), trained.levels.aminmax()
        flow = Flow(network, float(narrowest), float(widest), trained.facts, torch.float32)
    trained.double()
    return Subject(trained.judged if trained.has_energy else None, samples, score=trained.score, flow=flow)


def aiming(trained: Trained, density: Density | None) -> Subject:
    """A trained model with the density that its method aims at, if that of the data is known."""
    subject = subject_of(trained)
    if density is None:
        return subject
    module, settings, unit = load("methods", trained.header["method"]), trained.settings, trained.facts.unit
    origin = {"settings": settings.model_dump(), "unit": unit, "code": code_hash([module.__name__])}
    return replace(subject, target=module.Method.target(settings, density, unit), target_origin=origin)


@dataclass(frozen=True)
class Judge:
    """Judges models of one dataset; `data` and `features` are folders, `metrics` begins with the main metric."""

    root: Path
    data: Path
    features: Path
    truth: Truth
    metrics: Sequence[str]
    settings: Metrics
    store: Store

    def judge_run(self, run: Path, samples: Path, status: dict[str, Any]) -> Path:
        """Judge a trained run by its folders of weights and samples; one that is not ok gets rows without numbers."""
        files = {path.name: sha256_of(path) for path in sorted(samples.glob("*.np[yz]"))}
        key = self._digest([], run=status["digest"], samples=files)
        return self.store.obtain(key, lambda _, result: self._fill_run(run, samples, status, result))

    def judge_baseline(self, name: str, seed: int, count: int) -> Path:
        """Judge a baseline by `count` samples that it draws with this seed."""
        label = f"{name}/seed={seed}"
        key = self._digest([f"ebmbench.baselines.{name}"], label=label, count=count)
        run = {"method": name, "settings": "", "seed": seed, "label": label, "digest": key}
        return self.store.obtain(key, lambda _, result: self._fill_baseline(run, count, result))

    def _digest(self, modules: list[str], **inputs: Any) -> str:
        modules = [__name__, *modules, *(f"ebmbench.metrics.{name}" for name in self.metrics)]
        inputs |= {
            **self._origin,
            "metrics": list(self.metrics),
            "settings": self.settings.model_dump(),
            "code": code_hash(modules),
        }
        return digest(inputs)

    @cached_property
    def _origin(self) -> dict[str, Any]:
        """What names the data, their density and the features of images."""
        return {
            "data": read_json(self.data / "facts.json"),
            "source": [read_json(self.data / "source.json"), self.truth.origin],
            "features": describe_features(self.root, self.features, self.settings),
            **({"outliers": read_json(others)} if (others := self.data / "outliers.json").is_file() else {}),
        }

    @cached_property
    def _shared(self) -> Shared:
        return Shared(self.store, self._origin)

    @cached_property
    def _standard(self) -> Standard:
        facts, (train, test) = load_facts(self.data), (read_split(self.data, split) for split in ("train", "test"))
        labels = read_labels(self.data, "test") if facts.classes else None
        data = Data(train, test, facts, self.truth.density, test_labels=labels)
        return Standard(data, self.settings, self.features, self._shared, self.data)

    def _fill_baseline(self, run: Row, count: int, result: Path) -> None:
        clock = time.perf_counter()
        data, generator = self._standard.data, stream(run["seed"], "baseline", run["method"], self.data.name)
        known = (self.truth.density, data.train, data.test, data.facts)
        subject = load("baselines", run["method"]).subject(*known, count, generator)
        evaluations = {"exact": self._standard.evaluate(replace(subject, kind="exact"), with_train=True)}
        values = compute_metrics(evaluations, self.metrics)
        health = verdict(values, self.metrics[0], self.settings.health, control=None)
        write_judgement(result, {**run, "status": "ok", "reason": ""}, health, values, evaluations, {}, clock)

    def _fill_run(self, folder: Path, samples: Path, status: dict[str, Any], result: Path) -> None:
        clock = time.perf_counter()
        swept = ", ".join(f"{key}={value}" for key, value in status["settings"].items())
        run = {key: status[key] for key in ("label", "digest", "status", "seed")}
        run |= {"settings": swept, "reason": status["reason"] or ""}
        counts = {(name, ""): Value(status.get(name), n=1, protocol="training") for name in COUNTS if name in status}
        if status["status"] != "ok":
            write_json(result / "curve.json", [])
            values: Values = {(name, ""): Value(reason=run["reason"]) for name in self.metrics}
            health = Verdict(run["status"], run["reason"])
            return write_judgement(result, run, health, values | counts, {}, {}, clock)
        evaluations = self._evaluations(load_run(folder), samples, status["learned"])
        values = compute_metrics(evaluations, self.metrics) | counts
        health = verdict(values, self.metrics[0], self.settings.health, lambda: self._control(samples))
        films = load_arrays(samples / "films.npz") if (samples / "films.npz").exists() else {}
        if (samples / COMPLETIONS).exists():
            films[COMPLETIONS] = np.load(samples / COMPLETIONS, allow_pickle=False)
        write_judgement(result, run, health, values, evaluations, films, clock)
        write_json(result / "curve.json", learning_curve(folder, samples, evaluations, values, self.metrics[0]))

    def _control(self, samples: Path) -> Control:
        """How well the sampler of a run that was traced mixes on the control; the same for all models of it."""
        from ebmbench.experiment.control import run_control  # it loads all samplers, on which baselines do not depend

        run, facts = json.loads(str(load_arrays(samples / TRACE)["run"])), load_facts(self.data)
        found = self._shared.obtain(
            run_control.__module__,
            lambda: run_control(run, facts, self.truth.density, lambda: read_split(self.data, "train")),
            run=run,
            sampler=code_hash([f"ebmbench.samplers.{run['sampler']['kind']}"]),
        )
        return Control(float(found["r_hat"]), float(found["ess"]))

    def _evaluations(self, trained: Trained, samples: Path, learned: dict[str, float]) -> dict[str, Evaluation]:
        """One evaluation for each kind of samples, or one without samples."""
        whole = replace(aiming(trained, self.truth.density), learned=learned, **_read_trace(samples))
        diagnostics = read_json(samples / "diagnostics.json") if any(samples.glob("*.npy")) else {}
        subjects: dict[str, Subject] = {
            kind: replace(whole, samples=_tensor(samples / f"{kind}.npy"), sampler=one["sampler"], kind=kind)
            for kind in KINDS
            if (one := diagnostics.get(kind))
        }
        return {kind: self._standard.evaluate(subject) for kind, subject in (subjects or {"": whole}).items()}


def learning_curve(run: Path, samples: Path, evaluations: Evaluations, values: Values, first: str) -> list[Row]:
    """The main metric at each snapshot of a run and at its end: the first of the suite or, without it, a stand-in.

    Weights are averaged and the learning rate is on its way to zero, so a point is not what a run with that smaller
    budget would reach. Toys are integrated on half as many cells an axis as at the end; images are judged by short
    runs.
    """
    # A value that is missing by a fault of the model shows that the metric exists.
    found = {key for key, one in values.items() if one.value is not None or one.fault}
    main = choose_main_metric(first, {name for name, kind in found if kind == _snapshot_kind(name)})
    kind, passes = _snapshot_kind(main), values.get(("passes", ""))
    if (main, kind) not in values or passes is None:
        return []
    template = evaluations[kind] if kind else next(iter(evaluations.values()))
    points = {
        passes_of(file): compute_metrics({kind: _at_snapshot(file, samples, template)}, [main])
        for file in snapshots(run)
    }
    points[int(passes.value or 0)] = values
    judged = {at: point[main, kind] for at, point in points.items()}
    shared = {"metric": main, "samples": kind}
    return [{**shared, "passes": at, "value": one.value, "reason": one.reason} for at, one in judged.items()]


def _snapshot_kind(metric: str) -> str:
    """The kind of samples by which a snapshot is judged; empty if the metric, or a count, needs none."""
    known = entries("metrics").get(metric)
    return SNAPSHOT_KIND if known is not None and known.samples else ""


def _at_snapshot(file: Path, samples: Path, template: Evaluation) -> Evaluation:
    """The evaluation of a snapshot, made like that of the run's end."""
    drawn = samples / f"{file.stem}.npy"
    model = subject_of(load_run(file))
    x = _tensor(drawn) if drawn.exists() else None
    subject = replace(template.subject, energy=model.energy, score=model.score, flow=model.flow, samples=x, trace=None)
    settings = template.settings.model_copy(update={"cells": max(16, template.settings.cells // 2)})
    return replace(template, subject=subject, settings=settings)


def _read_trace(samples: Path) -> Mapping[str, Any]:
    """What was traced of the long runs, for a `Subject`."""
    if not (samples / TRACE).exists():
        return {}
    stored = load_arrays(samples / TRACE)
    return {"trace": torch.from_numpy(stored["draws"]), "traced": tuple(map(str, stored["names"]))}


def _tensor(path: Path) -> Tensor:
    return torch.from_numpy(np.load(path, allow_pickle=False))

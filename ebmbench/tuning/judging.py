"""One run of a trial: trained, and judged by the criterion. Both are found again in `work/` if they are there."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from ebmbench.config.registry import load as load_module
from ebmbench.config.schema import check
from ebmbench.config.sections import Dataset
from ebmbench.core.dataset import Facts
from ebmbench.core.method import Settings
from ebmbench.data.common.densities import Density
from ebmbench.data.common.sources import open_source
from ebmbench.experiment.judge import judge
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Value
from ebmbench.samplers.common.choice import parse
from ebmbench.stages.prepare import described
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trained import Trained, load
from ebmbench.tuning.space import Plan
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import read_json, write_json
from ebmbench.workspace.layout import DEFAULTS, WORK
from ebmbench.workspace.store import Store, digest


@dataclass(frozen=True)
class Data:
    """A dataset as `prepare` would write it."""

    train: Tensor
    test: Tensor
    facts: Facts
    density: Density | None
    source: dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """The criterion of a run; or none, what became of the run (`diverged`, say), and why."""

    value: float | None
    status: str
    reason: str


class Bench:
    """Trains and judges the runs of one method."""

    def __init__(self, plan: Plan, method: str) -> None:
        self.plan = plan
        self.method = method
        self.criterion = plan.space.methods[method].criterion
        self.training = plan.defaults.training.model_copy(update={"budget": plan.space.budget})
        self.store = Store(plan.root / WORK)
        kind = plan.defaults.sampling.sampler.get("kind")
        modules = ["ebmbench.tuning.judging", f"ebmbench.metrics.{self.criterion}", f"ebmbench.samplers.{kind}"]
        self.code = code_hash(modules)
        entries = ((name, plan.defaults.datasets[name]) for name in plan.space.datasets)
        self.data = {name: open_data(name, entry, plan.root) for name, entry in entries}

    def judged(self, settings: Settings, dataset: str, seed: int) -> Judged:
        """Make or find a run and its judgement."""
        data = self.data[dataset]
        job = Job(self.method, settings, {}, seed, self.training, self._model(settings), data.facts)
        run = self.store.obtain(job.digest(), lambda workshop, result: train(job, data.train, workshop, result))
        status = read_json(run / "status.json")
        if status["status"] != "ok":
            return Judged(None, status["status"], status["reason"])
        done = self.store.obtain(self.digest(status["digest"], data), lambda _, result: self._make(run, data, result))
        return Judged(**read_json(done / "criterion.json"))

    def digest(self, run: str, data: Data) -> str:
        """Names the judgement by the run, the truth, how it is judged, and the code."""
        defaults = self.plan.defaults
        inputs = {
            "run": run,
            "source": data.source,
            "criterion": self.criterion,
            "sampling": defaults.sampling.model_dump(),
            "settings": defaults.metrics.model_dump(),
            "code": self.code,
        }
        return digest(inputs)

    def _make(self, run: Path, data: Data, result: Path) -> None:
        trained = load(run)
        value = self._value(trained, data, samples=None)
        if value.value is None:  # samples are drawn only for a criterion that cannot do without
            value = self._value(trained, data, samples=self._samples(trained))
        reason = value.reason
        if value.value is not None and value.value <= 0:
            value, reason = Value(), f"{self.criterion} is {value.value}, which has no logarithm"
        status = "ok" if value.value is not None else "unavailable"
        write_json(result / "criterion.json", {"value": value.value, "status": status, "reason": reason})

    def _value(self, trained: Trained, data: Data, samples: Tensor | None) -> Value:
        model = trained.double()
        subject = Subject(model.judged if model.has_energy else None, samples, score=model.score)
        evaluation = Evaluation(subject, data.test, data.density, data.facts, self.plan.defaults.metrics)
        return judge({"": evaluation}, [self.criterion])[self.criterion, ""]

    def _samples(self, trained: Trained) -> Tensor:
        """As the stage `sample` draws them."""
        sampling = self.plan.defaults.sampling
        sampler = trained.own_sampler or parse(sampling.sampler, DEFAULTS, "sampling")
        trained.network.float()
        return trained.sample(sampling.chains, trained.header["seed"], sampler, sampling.spread).x

    def _model(self, settings: Settings) -> Any:
        section = self.plan.defaults.models.get(settings.model, {})
        return check(load_module("models", settings.model).Settings, section, DEFAULTS, f"models.{settings.model}")


def open_data(dataset: str, entry: Dataset, root: Path) -> Data:
    """The data of an entry, drawn anew: `prepared/` may hold those of another suite, and belongs to DVC."""
    source = open_source(dataset, entry, root)
    whole = hashlib.sha256(b"".join(rows.numpy().tobytes() for rows in (source.train, source.test))).hexdigest()
    facts = source.facts(dataset, whole)
    written = {**described(entry), **source.origin}
    return Data(*source.values(), facts, source.density, written)

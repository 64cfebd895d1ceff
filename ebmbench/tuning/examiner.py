"""How a trained run gets the value of its trial: one metric, computed as the stages do it for a report.

Samples are drawn by `experiment/samples.py` and judged by `experiment/judge.py` against the same data and the same
reference classifier; only the kind of samples that the criterion is of is drawn, and none for a criterion that can do
without.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from ebmbench.experiment.data import open_data
from ebmbench.experiment.judge import aiming, compute_metrics
from ebmbench.experiment.runs import Run
from ebmbench.experiment.samples import Samples, check_sample_size, draw
from ebmbench.experiment.standard import Standard
from ebmbench.metrics.common.evaluation import Value
from ebmbench.training.trained import load
from ebmbench.tuning.space import Plan
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import read_json, write_json
from ebmbench.workspace.store import Store, digest


@dataclass(frozen=True)
class Judged:
    """The criterion of a run; or none, what became of the run (`diverged`, say), and why."""

    value: float | None
    status: str
    reason: str


class Examiner:
    """Judges runs on one dataset by one metric."""

    def __init__(self, plan: Plan, dataset: str, criterion: str, store: Store) -> None:
        self.kind = plan.kind
        self.sampling = plan.defaults.sampling
        self.criterion = criterion
        self.store = store
        self.data = open_data(dataset, plan.defaults.datasets[dataset], plan.root)
        check_sample_size(self.data.facts, self.sampling)
        self.standard = Standard.of(self.data, plan.root, plan.defaults, store)
        sampler = self.sampling.sampler.get("kind")
        self.code = code_hash([__name__, f"ebmbench.metrics.{criterion}", f"ebmbench.samplers.{sampler}"])

    def judge(self, run: Run) -> Judged:
        """Judge a run, or find its judgement; one whose training was given up has no value."""
        if run.diverged:
            return Judged(None, run.status["status"], run.status["reason"])
        found = self.store.obtain(self._digest(run), lambda _, result: self._fill(run, result))
        return Judged(**read_json(found / "criterion.json"))

    def _digest(self, run: Run) -> str:
        """Names a judgement by the run, what it is judged against, how, and the code."""
        inputs = {
            "run": run.status["digest"],
            "standard": self.standard.shared.origin,
            "criterion": self.criterion,
            "kind": self.kind,
            "sampling": self.sampling.model_dump(),
            "settings": self.standard.settings.model_dump(),
            "code": self.code,
        }
        return digest(inputs)

    def _fill(self, run: Run, result: Path) -> None:
        value = self._value(run, None)
        if value.value is None:  # samples are drawn only for a criterion that cannot do without
            value = self._value(run, draw(load(run.folder), self.kind, self.sampling, self.data.test))
        reason = value.reason
        if value.value is not None and value.value <= 0:
            value, reason = Value(), f"{self.criterion} is {value.value}, which has no logarithm"
        status = "ok" if value.value is not None else "unavailable"
        write_json(result / "criterion.json", {"value": value.value, "status": status, "reason": reason})

    def _value(self, run: Run, drawn: Samples | None) -> Value:
        subject = replace(aiming(load(run.folder), self.data.density), learned=run.status["learned"])
        if drawn is not None:
            subject = replace(subject, samples=drawn.x, sampler=drawn.sampler, kind=self.kind)
        return compute_metrics({"": self.standard.evaluate(subject)}, [self.criterion])[self.criterion, ""]

"""evaluate@<dataset>-<method>: judge every run of a cell by the chosen metrics.

Counts of model evaluations stand among the metrics: they are the same on every machine. Seconds are not, and go
to `cost/`.
"""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ebmbench.config.params import Params, load_params
from ebmbench.config.registry import load as load_module
from ebmbench.config.sections import KINDS
from ebmbench.core.dataset import Facts, read_split
from ebmbench.data.common.sources import Truth, open_truth
from ebmbench.experiment.curve import curve, write_curves
from ebmbench.experiment.judge import Values, collect, extractor_inputs, judge, leave, said
from ebmbench.experiment.verdict import Verdict, verdict
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Value
from ebmbench.stages.runner import stage_main
from ebmbench.training.trained import load
from ebmbench.workspace.cell import TRACE, Cell
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import load_arrays, read_json, sha256_of, write_json
from ebmbench.workspace.progress import pulse
from ebmbench.workspace.store import Store, digest

COUNTS = ("energy_evaluations", "input_gradients", "parameter_gradients", "passes")


def evaluate_cell(root: Path, dataset: str, method: str, fresh: bool = False) -> None:
    """Make or find the judgement of every run, then write the cell's files."""
    params = load_params(root).on(dataset)
    cell = Cell(root, params.benchmark.suite, dataset, method, fresh)
    truth = open_truth(dataset, params.datasets[dataset], root, cell.data)
    store = Store(cell.work, cell.fresh)
    runs = {label: Run(cell, params, truth, status) for label, status in cell.runs().items()}
    done = {label: store.obtain(run.digest(), run.make) for label, run in pulse.each(runs.items())}
    shared = {"suite": cell.suite, "dataset": cell.dataset, "method": cell.method}
    collect(cell.folder, shared, done, cell.data, truth.density)
    write_curves(cell.folder / "curve.csv", {label: read_json(run / "curve.json") for label, run in done.items()})
    write_json(
        cell.folder / "cost" / "evaluate.json", {label: read_json(run / "cost.json") for label, run in done.items()}
    )


@dataclass(frozen=True)
class Run:
    """One trained run to be judged."""

    cell: Cell
    params: Params
    truth: Truth
    status: dict[str, Any]

    def digest(self) -> str:
        """Names the judgement by the run, its samples, the metrics, the truth, and the code."""
        metrics = self.params.benchmark.metrics
        modules = ["ebmbench.stages.evaluate", *(f"ebmbench.metrics.{name}" for name in metrics)]
        inputs = {
            "run": self.status["digest"],
            "samples": {path.name: sha256_of(path) for path in self._files("*.np[yz]")},
            "features": extractor_inputs(self.cell.features, self.params.metrics, self.cell.root),
            "source": [read_json(self.cell.data / "source.json"), self.truth.origin],
            "metrics": metrics,
            "settings": self.params.metrics.model_dump(),
            "code": code_hash(modules),
        }
        return digest(inputs)

    def make(self, _: Path, result: Path) -> None:
        """Judge the run into a folder; one that diverged or was skipped gets rows without numbers, and the reason."""
        clock = time.perf_counter()
        status = self.status
        swept = ", ".join(f"{key}={value}" for key, value in status["settings"].items())
        run = {key: status[key] for key in ("label", "digest", "status", "seed")}
        run |= {"settings": swept, "reason": status["reason"] or ""}
        counts = {(name, ""): Value(status.get(name), n=1, protocol="training") for name in COUNTS if name in status}
        if status["status"] != "ok":
            write_json(result / "curve.json", [])
            values: Values = {(name, ""): Value(reason=run["reason"]) for name in self.params.benchmark.metrics}
            return leave(result, run | said(Verdict(run["status"], run["reason"])), values | counts, {}, {}, clock)
        evaluations = self._evaluations()
        films = self._folder / "films.npz"
        values = judge(evaluations, self.params.benchmark.metrics) | counts
        main = self.params.benchmark.metrics[0]
        run |= said(verdict(values, main, self.params.metrics.health))
        leave(result, run, values, evaluations, load_arrays(films) if films.exists() else {}, clock)
        write_json(result / "curve.json", curve(self._run, self._folder, evaluations, values, main))

    def _evaluations(self) -> dict[str, Evaluation]:
        """One for each kind of samples."""
        trained = load(self._run).double()
        method = load_module("methods", self.cell.method)
        settings = method.Settings(**trained.header["settings"])
        target = method.Method.target(settings, self.truth.density, trained.facts.unit) if self.truth.density else None
        energy = trained.judged if trained.has_energy else None
        whole = Subject(energy, None, target, self.status["learned"], trained.score, **self._trace())
        diagnostics = read_json(self._folder / "diagnostics.json") if self._files("*.npy") else {}
        subjects: dict[str, Subject] = {
            kind: replace(whole, samples=_tensor(self._folder / f"{kind}.npy"), sampler=one["sampler"], kind=kind)
            for kind in KINDS
            if (one := diagnostics.get(kind))
        }
        test, train = read_split(self.cell.data, "test"), self._train(trained.facts)
        return {
            kind: Evaluation(
                subject, test, self.truth.density, trained.facts, self.params.metrics, train, self.cell.features
            )
            for kind, subject in (subjects or {"": whole}).items()
        }

    def _train(self, facts: Facts) -> Tensor | None:
        """The training set, which only images are compared with."""
        return read_split(self.cell.data, "train") if facts.is_image else None

    def _trace(self) -> dict[str, Any]:
        """What was traced of the long runs, for a `Subject`."""
        if not (self._folder / TRACE).exists():
            return {}
        stored = load_arrays(self._folder / TRACE)
        return {"trace": torch.from_numpy(stored["draws"]), "traced": tuple(map(str, stored["names"]))}

    @property
    def _run(self) -> Path:
        return self.cell.folder / "train" / self.status["label"]

    @property
    def _folder(self) -> Path:
        return self.cell.folder / "sample" / self.status["label"]

    def _files(self, pattern: str) -> list[Path]:
        return sorted(self._folder.glob(pattern))


def _tensor(path: Path) -> Tensor:
    return torch.from_numpy(np.load(path, allow_pickle=False))


main = stage_main("evaluate", evaluate_cell, __doc__, "dataset", "method", fresh=True)


if __name__ == "__main__":
    sys.exit(main())

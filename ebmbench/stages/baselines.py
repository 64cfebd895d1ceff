"""baselines@<dataset>: judge the oracle, the Gaussian and whatever else nobody trained, as ordinary rows."""

import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

from ebmbench.config.params import Params, load_params
from ebmbench.config.registry import load
from ebmbench.core.dataset import load_facts, read_split
from ebmbench.core.streams import stream
from ebmbench.data.common.sources import Truth, open_truth
from ebmbench.experiment.judge import collect, extractor_inputs, judge, leave, said
from ebmbench.experiment.verdict import verdict
from ebmbench.metrics.common.evaluation import Evaluation
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import read_json, write_json
from ebmbench.workspace.layout import BASELINES, WORK, cell_folder, features_folder, prepared_folder
from ebmbench.workspace.progress import pulse
from ebmbench.workspace.store import Store, digest


def judge_baselines(root: Path, dataset: str) -> None:
    """All baselines with all seeds; a seed draws other samples."""
    params = load_params(root).on(dataset)
    data = prepared_folder(root, dataset)
    truth = open_truth(dataset, params.datasets[dataset], root, data)
    store, done = Store(root / WORK), {}
    for name, seed in pulse.each(product(params.benchmark.baselines, params.benchmark.seeds)):
        baseline = Baseline(root, dataset, params, name, seed, truth)
        done[baseline.label] = store.obtain(baseline.digest(), baseline.make)
    folder = cell_folder(root, params.benchmark.suite, dataset, BASELINES)
    collect(folder, {"suite": params.benchmark.suite, "dataset": dataset}, done, data, truth.density)
    write_json(folder / "cost.json", {label: read_json(run / "cost.json") for label, run in done.items()})


class Baseline:
    """One baseline with one seed."""

    def __init__(self, root: Path, dataset: str, params: Params, name: str, seed: int, truth: Truth) -> None:
        self.data, self.root, self.dataset = prepared_folder(root, dataset), root, dataset
        self.features = features_folder(root, dataset)
        self.params, self.name, self.seed, self.truth = params, name, seed, truth
        self.label = f"{name}/seed={seed}"

    def digest(self) -> str:
        """Names the judgement by data, truth, metrics and code."""
        metrics = self.params.benchmark.metrics
        modules = ["ebmbench.stages.baselines", f"ebmbench.baselines.{self.name}"]
        modules += [f"ebmbench.metrics.{name}" for name in metrics]
        inputs = {
            "label": self.label,
            "data": read_json(self.data / "facts.json"),
            "source": [read_json(self.data / "source.json"), self.truth.origin],
            "metrics": metrics,
            "settings": self.params.metrics.model_dump(),
            "count": self.params.sampling.chains,
            "features": extractor_inputs(self.features, self.params.metrics, self.root),
            "code": code_hash(modules),
        }
        return digest(inputs)

    def make(self, _: Path, result: Path) -> None:
        """Judge it into a folder."""
        clock = time.perf_counter()
        facts = load_facts(self.data)
        train, test = (read_split(self.data, split) for split in ("train", "test"))
        density = self.truth.density
        generator = stream(self.seed, "baseline", self.name, self.dataset)
        count = self.params.sampling.chains
        subject = load("baselines", self.name).subject(density, train, test, facts, count, generator)
        subject = replace(subject, kind="exact")
        evaluation = Evaluation(subject, test, density, facts, self.params.metrics, train, self.features)
        evaluations = {"exact": evaluation}
        run = {"method": self.name, "settings": "", "seed": self.seed, "label": self.label}
        values = judge(evaluations, self.params.benchmark.metrics)
        found = verdict(values, self.params.benchmark.metrics[0], self.params.metrics.health)
        run |= {"digest": self.digest(), "status": "ok", "reason": "", **said(found)}
        leave(result, run, values, evaluations, {}, clock)


main = stage_main("baselines", judge_baselines, __doc__, "dataset")


if __name__ == "__main__":
    sys.exit(main())

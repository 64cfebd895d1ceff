"""baselines@<dataset>: judge the oracle, the Gaussian and whatever else nobody trained, as ordinary rows."""

import sys
from itertools import product
from pathlib import Path

from ebmbench.config.params import load_params
from ebmbench.data.common.sources import open_truth
from ebmbench.experiment.judge import Judge
from ebmbench.experiment.judgement import collect
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.files import read_json, write_json
from ebmbench.workspace.layout import BASELINES, WORK, cell_folder, features_folder, prepared_folder
from ebmbench.workspace.progress import progress
from ebmbench.workspace.store import Store


def judge_baselines(root: Path, dataset: str) -> None:
    """All baselines with all seeds; a seed draws other samples."""
    params = load_params(root).on(dataset)
    data, benchmark = prepared_folder(root, dataset), params.benchmark
    truth = open_truth(dataset, params.datasets[dataset], root, data)
    store, features = Store(root / WORK), features_folder(root, dataset)
    judge = Judge(root, data, features, truth, benchmark.metrics, params.metrics, store)
    done = {
        f"{name}/seed={seed}": judge.judge_baseline(name, seed, params.sampling.chains)
        for name, seed in progress.each(product(benchmark.baselines, benchmark.seeds))
    }
    folder = cell_folder(root, benchmark.suite, dataset, BASELINES)
    collect(folder, {"suite": benchmark.suite, "dataset": dataset}, done, data, truth.density)
    write_json(folder / "facts.json", read_json(data / "facts.json"))  # for the report, which reads `runs/` only
    write_json(folder / "cost.json", {label: read_json(run / "cost.json") for label, run in done.items()})


main = stage_main("baselines", judge_baselines, __doc__, "dataset")


if __name__ == "__main__":
    sys.exit(main())

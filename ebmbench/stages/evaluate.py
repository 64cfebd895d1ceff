"""evaluate@<dataset>-<method>: judge every run of a cell by the chosen metrics.

Counts of model evaluations stand among the metrics: they are the same on every machine. Seconds are not, and go
to `cost/`.
"""

import sys
from pathlib import Path

from ebmbench.config.params import load_params
from ebmbench.data.common.sources import open_truth
from ebmbench.experiment.judge import Judge
from ebmbench.experiment.judgement import collect, collect_curves
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.cell import Cell
from ebmbench.workspace.files import read_json, write_json
from ebmbench.workspace.progress import progress
from ebmbench.workspace.store import Store


def evaluate_cell(root: Path, dataset: str, method: str, fresh: bool = False) -> None:
    """Make or find the judgement of every run, then write the cell's files."""
    params = load_params(root).on(dataset)
    cell = Cell(root, params.benchmark.suite, dataset, method, fresh)
    truth = open_truth(dataset, params.datasets[dataset], root, cell.data)
    store = Store(cell.work, fresh)
    judge = Judge(root, cell.data, cell.features, truth, params.benchmark.metrics, params.metrics, store)
    done = {
        label: judge.judge_run(cell.folder / "train" / label, cell.folder / "sample" / label, status)
        for label, status in progress.each(cell.runs().items())
    }
    shared = {"suite": cell.suite, "dataset": dataset, "method": method}
    collect(cell.folder, shared, done, cell.data, truth.density)
    collect_curves(cell.folder / "curve.csv", done)
    costs = {label: read_json(run / "cost.json") for label, run in done.items()}
    write_json(cell.folder / "cost" / "evaluate.json", costs)


main = stage_main("evaluate", evaluate_cell, __doc__, "dataset", "method", fresh=True)


if __name__ == "__main__":
    sys.exit(main())

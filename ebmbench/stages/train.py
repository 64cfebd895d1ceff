"""train@<dataset>-<method>: train every run of a cell (settings × seeds), reusing and resuming what `work/` holds."""

import csv
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from ebmbench.config.params import load_params
from ebmbench.core.dataset import load_facts, read_labels, read_split
from ebmbench.experiment.data import draw_data_of_seed
from ebmbench.experiment.runs import train_run
from ebmbench.experiment.sweep import cell_jobs, check_cell
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.cell import Cell
from ebmbench.workspace.files import read_json, write_csv, write_json
from ebmbench.workspace.manifest import TRAINED, materialising
from ebmbench.workspace.progress import progress
from ebmbench.workspace.store import Store


def train_cell(root: Path, dataset: str, method: str, fresh: bool = False) -> None:
    """Make or find every run, then materialise the cell's output whole."""
    params = load_params(root)
    cell = Cell(root, params.benchmark.suite, dataset, method, fresh)
    facts = load_facts(cell.data)
    check_cell(params, cell, facts)
    store, shared = Store(cell.work, fresh), read_split(cell.data, "train")
    labels, done = read_labels(cell.data, "train"), {}
    for one in progress.each(cell_jobs(params, method, facts)):
        job, data = one, shared
        if job.training.data_per_seed:
            data, own = draw_data_of_seed(facts, params.datasets[dataset], root, cell.data, job.seed)
            job = replace(job, facts=own)
        done[job.label] = train_run(job, data, store, labels).folder
    with materialising(cell.folder / "train", TRAINED) as folder:
        for label, run in done.items():
            (folder / label).mkdir(parents=True)
            for file in run.glob("[ms]*.*"):  # model.safetensors, snapshots and status.json
                shutil.copyfile(file, folder / label / file.name)
    join_histories(cell.folder / "history.csv", [run / "history.csv" for run in done.values()])
    costs = {label: read_json(run / "cost.json") for label, run in done.items()}
    write_json(cell.folder / "cost" / "train.json", costs)


def join_histories(path: Path, histories: list[Path]) -> None:
    """One file for all runs of a cell; runs that log different columns (another sampler, say) keep their own."""
    tables = [list(csv.DictReader(history.read_text(encoding="utf-8").splitlines())) for history in histories]
    columns = dict.fromkeys(name for table in tables for row in table for name in row) or {"label": None}
    write_csv(path, list(columns), (row for table in tables for row in table))


main = stage_main("train", train_cell, __doc__, "dataset", "method", fresh=True)


if __name__ == "__main__":
    sys.exit(main())

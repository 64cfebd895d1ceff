"""Making the workspace ready for a run.

Parameters checked to the last key, old cells removed, `work/` refilled from `runs/`.
"""

import csv
import shutil
import tempfile
from pathlib import Path

from ebmbench.core import checkpoint
from ebmbench.core.errors import UserError
from ebmbench.core.files import read_json, write_json
from ebmbench.core.params import FILE, Params
from ebmbench.core.sections import CLAIMS_FOLDER
from ebmbench.core.store import Store
from ebmbench.data.loading import source_path
from ebmbench.samplers.choice import parse
from ebmbench.stages.cell import Cell
from ebmbench.stages.jobs import check_cell
from ebmbench.stages.prepare import known_facts


def ready(root: Path, params: Params) -> None:
    """Check what only the methods' own files can check, then tidy up. Nothing is written if the check fails."""
    for dataset in params.benchmark.datasets:
        here = params.on(dataset)
        parse(here.sampling.sampler, FILE, "sampling")
        entry = params.datasets[dataset]
        source_path(root, entry.source, dataset)
        cells = [Cell(root, params.benchmark.suite, dataset, method) for method in params.benchmark.methods]
        facts = known_facts(cells[0].data, entry, root)
        for cell in cells:
            check_cell(params, cell, facts)
    prune(root, params)
    # The report depends on this folder, and is to be written even if not one cell gets as far as to make it.
    (root / "runs" / params.benchmark.suite).mkdir(parents=True, exist_ok=True)
    refill(root, params)


def prune(root: Path, params: Params) -> list[str]:
    """Remove cells that left the suite, so that the report does not depend on them; DVC's cache still has them."""
    benchmark = params.benchmark
    wanted = {(dataset, method) for dataset in benchmark.datasets for method in [*benchmark.methods, "_baselines"]}
    removed = []
    for folder in (root / "runs" / benchmark.suite).glob("*/*"):
        cell = (folder.parent.name, folder.name)
        if folder.is_dir() and cell[0] != CLAIMS_FOLDER and cell not in wanted:
            shutil.rmtree(folder)
            removed.append(f"{folder.parent.name}/{folder.name}")
    for folder in (root / "runs" / benchmark.suite / CLAIMS_FOLDER).glob("*"):
        if folder.is_dir() and folder.name not in benchmark.claims:
            shutil.rmtree(folder)
            removed.append(folder.name)
    return removed


def refill(root: Path, params: Params) -> None:
    """Give `work/` the finished runs that `runs/` has.

    DVC empties a stage's outputs before it runs, and a pulled clone has no `work/`.
    """
    store = Store(root / "work")
    for dataset in params.benchmark.datasets:
        for method in params.benchmark.methods:
            cell = Cell(root, params.benchmark.suite, dataset, method)
            for label, status in cell.runs().items():
                if not store.done(status["digest"]).exists():
                    _adopt(store, cell, label, status["digest"])


def _adopt(store: Store, cell: Cell, label: str, digest: str) -> None:
    costs, history = cell.folder / "cost" / "train.json", cell.folder / "history.csv"
    if not (costs.is_file() and history.is_file() and label in read_json(costs)):
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        shutil.copytree(cell.folder / "train" / label, folder)
        if not all(_readable(file) for file in folder.glob("*.safetensors")):
            return
        write_json(folder / "cost.json", read_json(costs)[label])
        with (
            history.open(newline="", encoding="utf-8") as source,
            (folder / "history.csv").open("w", newline="", encoding="utf-8") as target,
        ):
            lines = csv.reader(source)
            csv.writer(target, lineterminator="\n").writerows(line for line in lines if line[0] in ("label", label))
        store.adopt(digest, folder)


def _readable(model: Path) -> bool:
    """A result that was cut short must not be found again as a whole one."""
    try:
        checkpoint.load(model)
    except UserError:
        return False
    return True

"""Prepare the workspace for a run: check all parameters, remove cells that left the suite, refill `work/`."""

import csv
import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ebmbench.config.params import Params, outside_outputs
from ebmbench.config.sections import Benchmark
from ebmbench.errors import UserError
from ebmbench.stages.checks import check_suite
from ebmbench.stages.inputs import require_keys
from ebmbench.workspace.cell import Cell
from ebmbench.workspace.files import read_json, write_csv, write_json
from ebmbench.workspace.layout import (
    BASELINES,
    CLAIMS,
    DATA_ROOT,
    DOWNLOADS,
    FAILURES,
    REPORT,
    WORK,
    features_folder,
    file_stem,
    prepared_folder,
    record_file,
    suite_folder,
)
from ebmbench.workspace.manifest import (
    FEATURES,
    MANIFEST,
    PREPARED,
    SAMPLED,
    TRAINED,
    files_in,
    foreign_files,
    hashes,
    is_leftover,
    read_hashes,
    remove_empty,
    require_no_foreign_files,
)
from ebmbench.workspace.record import read_record
from ebmbench.workspace.store import Store

# The outputs of stages that are single files, from the folder of a cell, of baselines, of a claim (`dvc.yaml`).
OF_CELL = re.compile(
    r"(curve|history|rows)\.csv|metrics\.json|pictures\.npz|(cost|record)/(train|sample|evaluate)\.json"
)
OF_BASELINES = re.compile(r"(cost|facts|metrics|record)\.json|pictures\.npz|rows\.csv")
OF_CLAIM = re.compile(r"(cost|metrics|record|verdict)\.json|figure\.png|values\.csv")


def prepare_workspace(root: Path, params: Params) -> None:
    """Check parameters and files, then prune and refill. Nothing is written if a check fails."""
    check_workspace(root, params)
    prune(root, params)
    # The report depends on this folder, and is to be written even if not one cell gets as far as to make it.
    suite_folder(root, params.benchmark.suite).mkdir(parents=True, exist_ok=True)
    refill(root, params)


def check_workspace(root: Path, params: Params) -> None:
    """Refuse parameters and files that a run could not work with."""
    require_keys(root)
    outside_outputs(root, os.environ.get(DATA_ROOT), DATA_ROOT, but=DOWNLOADS)
    check_suite(root, params)
    for folder, names in _output_folders(root, params).items():
        require_no_foreign_files(folder, names)


def _output_folders(root: Path, params: Params) -> dict[Path, re.Pattern[str]]:
    """The folders that DVC empties before their stages run, and the names that these write."""
    # DVC prepares every dataset that is declared, whether or not the suite compares on it.
    found = {prepared_folder(root, dataset): PREPARED for dataset in params.datasets}
    for dataset in params.benchmark.datasets:
        found[features_folder(root, dataset)] = FEATURES
        for method in params.benchmark.methods:
            cell = Cell(root, params.benchmark.suite, dataset, method).folder
            found |= {cell / "train": TRAINED, cell / "sample": SAMPLED}
    return found


def prune(root: Path, params: Params) -> list[str]:
    """Remove cells that left the suite, so that the report does not depend on them; DVC's cache still has them.

    Files that no stage wrote stay, and a warning names them.
    """
    benchmark, suite = params.benchmark, suite_folder(root, params.benchmark.suite)
    _prune_failures(suite / FAILURES, benchmark)
    wanted = {f"{CLAIMS}/{name}" for name in benchmark.claims}
    wanted |= {f"{data}/{cell}" for data in benchmark.datasets for cell in [*benchmark.methods, BASELINES]}
    removed = []
    for folder in sorted(suite.glob("*/*")):
        name = folder.relative_to(suite).as_posix()
        if name in wanted or not folder.is_dir():
            continue
        left = _remove_cell(folder, root)
        with suppress(OSError):  # another cell is in it
            folder.parent.rmdir()
        if left:
            more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
            kept = (folder / left[0]).relative_to(root).as_posix()
            print(f"kept, since no record says that ebmbench wrote it: {kept}{more}", file=sys.stderr)
        else:
            removed.append(name.removeprefix(f"{CLAIMS}/"))
    return removed


def _prune_failures(folder: Path, benchmark: Benchmark) -> None:
    """Remove notes of failures of stages that the suite no longer has."""
    cells = [f"{dataset}-{method}" for dataset in benchmark.datasets for method in benchmark.methods]
    items = {"claim": benchmark.claims} | dict.fromkeys(("prepare", "features", "baselines"), benchmark.datasets)
    items |= dict.fromkeys(("train", "sample", "evaluate"), cells)
    wanted = {file_stem(f"{kind}@{item}") for kind, names in items.items() for item in names} | {REPORT}
    for note in folder.glob("*.json"):
        if note.stem not in wanted and note.stem.partition("_")[0] in items:
            note.unlink()


def _is_ours(folder: Path, root: Path) -> bool:
    """Whether a stage wrote this folder: its record names the stage, and so the place. A copy has another place."""
    records = [path for path in (*folder.glob("record/*.json"), folder / "record.json") if path.is_file()]
    stages = {path: str((read_record(path) or {}).get("stage")) for path in records}
    suite = folder.parents[1].name
    unfinished = all(is_leftover(name) for name in files_in(folder))
    return unfinished or any(record_file(root, suite, stage) == path for path, stage in stages.items())


def _remove_cell(folder: Path, root: Path) -> list[str]:
    """Remove what stages wrote into the folder of a cell, of baselines or of a claim; return what is left."""
    if folder.is_symlink() or folder.parent.is_symlink():  # what it leads to is not ours
        return [""]
    if not _is_ours(folder, root):
        return list(files_in(folder))
    claim = folder.parent.name == CLAIMS
    names = OF_CLAIM if claim else OF_BASELINES if folder.name == BASELINES else OF_CELL
    outputs = {"train": TRAINED, "sample": SAMPLED} if names is OF_CELL else {}
    foreign = {f"{out}/{name}" for out, known in outputs.items() for name in foreign_files(folder / out, known)}
    for name in files_in(folder):
        inside = name.partition("/")[0] in outputs and name not in foreign
        if inside or names.fullmatch(name) or is_leftover(name):
            (folder / name).unlink()
    remove_empty(folder)
    return list(files_in(folder))


def refill(root: Path, params: Params) -> None:
    """Give `work/` the finished runs that `runs/` has.

    DVC empties a stage's outputs before it runs, and a pulled clone has no `work/`. A damaged run is skipped with a
    warning: DVC notices it, and runs its stage.
    """
    store = Store(root / WORK)
    for dataset in params.benchmark.datasets:
        for method in params.benchmark.methods:
            cell = Cell(root, params.benchmark.suite, dataset, method)
            damaged: dict[str, None] = {}
            for label in cell.labels():
                try:
                    _adopt(store, cell, label)
                except UserError as error:
                    damaged[f"warning: {error}"] = None
            for line in damaged:
                print(line, file=sys.stderr)


def _adopt(store: Store, cell: Cell, label: str) -> None:
    digest, train, history = cell.status(label)["digest"], cell.folder / "train", cell.folder / "history.csv"
    if store.has(digest) or not history.is_file() or label not in (seconds := _costs(cell)):
        return
    listed = read_hashes(train / MANIFEST) or {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        shutil.copytree(train / label, folder)
        if any(listed.get(f"{label}/{name}") != found for name, found in hashes(folder).items()):
            return  # it was cut short or changed, and must not be found again as a whole one
        write_json(folder / "cost.json", seconds[label])
        _copy_history(history, folder / "history.csv", label)
        store.adopt(digest, folder)


def _costs(cell: Cell) -> dict[str, Any]:
    """The seconds of each run by label; none if they are not there."""
    path = cell.folder / "cost" / "train.json"
    found = read_json(path) if path.is_file() else {}
    if not isinstance(found, dict):
        raise UserError(f"{path}: damaged, found {str(found)[:200]!r}, allowed: a mapping")
    return found


def _copy_history(history: Path, target: Path, label: str) -> None:
    """The lines of one run."""
    try:
        rows = list(csv.reader(history.read_text(encoding="utf-8").splitlines()))
    except (ValueError, csv.Error):
        rows = []
    if not rows or rows[0][:1] != ["label"]:
        raise UserError(f"{history}: damaged, found no table with a column 'label'")
    write_csv(target, rows[0], (row for row in rows[1:] if row and row[0] == label))

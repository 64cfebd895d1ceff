"""sample@<dataset>-<method>: draw samples, from noise, of every trained run of a cell.

All energies are sampled alike, by the suite's sampler: *long-run* samples, many steps of a valid sampler, not what
training chains remember. They do not cross between distant modes, though: mode weights among them show where chains
from wide noise end. A method that is also a way of sampling (ncsn) is sampled by its own; `diagnostics.json` says
which sampler it was.
"""

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ebmbench.core.code import code_hash
from ebmbench.core.files import read_json, replacing, write_json
from ebmbench.core.params import FILE, Sampling, load_params
from ebmbench.core.store import Store, digest
from ebmbench.samplers.choice import parse
from ebmbench.stages.cell import Cell, cell_parser, materialising, open_cell
from ebmbench.stages.shell import run_stage
from ebmbench.training.run import peak_memory
from ebmbench.training.trained import load


def sample_cell(cell: Cell, sampling: Sampling) -> None:
    """Make or find the samples of every run, then materialise the cell's output whole."""
    store = Store(cell.work, cell.fresh)
    done = {label: _obtain(store, cell, status, sampling) for label, status in cell.runs().items()}
    with materialising(cell.folder / "sample") as folder:
        for label, run in done.items():
            shutil.copytree(run, folder / label, ignore=shutil.ignore_patterns("cost.json"))
    write_json(
        cell.folder / "cost" / "sample.json", {label: read_json(run / "cost.json") for label, run in done.items()}
    )


def sampling_digest(status: dict[str, Any], sampling: Sampling) -> str:
    """Names the samples by the run they come from and how they are drawn."""
    # The run's digest covers the method's own sampler.
    modules = ["ebmbench.stages.sample", f"ebmbench.samplers.{sampling.sampler.get('kind')}"]
    return digest({"run": status["digest"], "sampling": sampling.model_dump(), "code": code_hash(modules)})


def _obtain(store: Store, cell: Cell, status: dict[str, Any], sampling: Sampling) -> Path:
    key = sampling_digest(status, sampling)
    run = cell.folder / "train" / status["label"]
    return store.obtain(key, lambda _, result: draw_samples(run, status, sampling, result))


def draw_samples(run: Path, status: dict[str, Any], sampling: Sampling, result: Path) -> None:
    """Fill a folder with `samples.npy` and `diagnostics.json`; a run that is not ok has neither."""
    clock = time.perf_counter()
    if status["status"] == "ok":
        trained = load(run)
        sampler = trained.own_sampler or parse(sampling.sampler, FILE, "sampling")
        chain = trained.sample(sampling.chains, status["seed"], sampler, sampling.spread)
        with replacing(result / "samples.npy") as temporary, temporary.open("wb") as file:
            np.save(file, chain.x.numpy(), allow_pickle=False)
        values = {name: value.item() for name, value in chain.diagnostics.items()}
        shown = {name: value if np.isfinite(value) else str(value) for name, value in values.items()}
        write_json(result / "diagnostics.json", {"sampler": sampler.kind, **shown})
    cost = {"seconds": round(time.perf_counter() - clock, 3), "peak_memory_mb": peak_memory()}
    write_json(result / "cost.json", cost)


def main(argv: list[str] | None = None) -> int:
    """`python -m ebmbench.stages.sample DATASET METHOD`."""
    arguments = cell_parser("sample", __doc__).parse_args(argv)

    def work(root: Path) -> None:
        params = load_params(root)
        sample_cell(open_cell(root, params, arguments), params.sampling)

    return run_stage(f"sample@{arguments.dataset}-{arguments.method}", work)


if __name__ == "__main__":
    sys.exit(main())

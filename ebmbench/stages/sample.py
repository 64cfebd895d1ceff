"""sample@<dataset>-<method>: draw samples of every trained run of a cell, each kind (`experiment/samples.py`) apart.

On toy data all energies are sampled alike, by the suite's sampler: *long-run* samples, many steps of a valid sampler,
not what training chains remember. They do not cross between distant modes, though: mode weights among them show where
chains from wide noise end. `diagnostics.json` says which sampler it was.
"""

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ebmbench.config.params import load_params
from ebmbench.config.sections import Sampling
from ebmbench.core.dataset import read_split
from ebmbench.experiment.samples import Drawn, draw, enough
from ebmbench.stages.runner import stage_main
from ebmbench.training.run import peak_memory
from ebmbench.training.trained import load
from ebmbench.workspace.cell import SNAPSHOT_KIND, TRACE, Cell, snapshots
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import read_json, save_array, save_arrays, write_json
from ebmbench.workspace.manifest import SAMPLED, materialising
from ebmbench.workspace.progress import pulse
from ebmbench.workspace.store import Store, digest


def sample_cell(root: Path, dataset: str, method: str, fresh: bool = False) -> None:
    """Make or find the samples of every run, then materialise the cell's output whole."""
    params = load_params(root)
    cell, sampling = Cell(root, params.benchmark.suite, dataset, method, fresh), params.on(dataset).sampling
    store = Store(cell.work, fresh)
    done = {label: _obtain(store, cell, status, sampling) for label, status in pulse.each(cell.runs().items())}
    with materialising(cell.folder / "sample", SAMPLED) as folder:
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
    return store.obtain(key, lambda _, result: draw_samples(run, status, sampling, cell.data, result))


def draw_samples(run: Path, status: dict[str, Any], sampling: Sampling, data: Path, result: Path) -> None:
    """Fill a folder with `<kind>.npy`, `diagnostics.json`, a trace, and films of images; none if the run is not ok."""
    clock = time.perf_counter()
    if status["status"] == "ok":
        trained, test = load(run), read_split(data, "test")
        enough(trained.facts, sampling)
        drawn = {kind: draw(trained, kind, sampling, test) for kind in sampling.kinds}
        _leave(result, {kind: one for kind, one in drawn.items() if one is not None})
    seconds = round(time.perf_counter() - clock, 3)
    if status["status"] == "ok":
        _draw_snapshots(run, sampling, test, result)
    write_json(result / "cost.json", {"seconds": seconds, "peak_memory_mb": peak_memory()})


def _draw_snapshots(run: Path, sampling: Sampling, test: Tensor, result: Path) -> None:
    """Short runs of the models that training kept on its way: images are judged by samples, so these are too."""
    for file in snapshots(run):
        trained = load(file)
        if trained.facts.is_image and SNAPSHOT_KIND in sampling.kinds:
            drawn = draw(trained, SNAPSHOT_KIND, sampling, test)
            assert drawn is not None  # everything can be sampled from noise
            save_array(result / f"{file.stem}.npy", drawn.x.numpy())


def _leave(result: Path, drawn: dict[str, Drawn]) -> None:
    for kind, one in drawn.items():
        save_array(result / f"{kind}.npy", one.x.numpy())
    write_json(result / "diagnostics.json", {kind: _described(one) for kind, one in drawn.items()})
    for one in drawn.values():
        if one.trace is not None:
            save_arrays(result / TRACE, {"draws": one.trace.stacked().numpy(), "names": np.array(one.trace.names)})
    films = {kind: one.film for kind, one in drawn.items() if one.film is not None}
    if films:
        arrays = {kind: film.stacked().numpy() for kind, film in films.items()}
        arrays |= {f"{kind}_steps": np.array(film.steps) for kind, film in films.items()}
        save_arrays(result / "films.npz", arrays)


def _described(one: Drawn) -> dict[str, Any]:
    """Which sampler it was and how it fared; a number that is not finite is written as text."""
    shown = {name: value if np.isfinite(value) else str(value) for name, value in one.diagnostics.items()}
    return {"sampler": one.sampler, **shown}


main = stage_main("sample", sample_cell, __doc__, "dataset", "method", fresh=True)


if __name__ == "__main__":
    sys.exit(main())

"""sample@<dataset>-<method>: draw samples of every trained run of a cell, each kind (`experiment/samples.py`) apart.

On toy data all energies are sampled alike, by the suite's sampler: *long-run* samples, many steps of a valid sampler,
not what training chains remember. They do not cross between distant modes, though: mode weights among them show where
chains from wide noise end. `diagnostics.json` says which sampler it was.
"""

import shutil
import sys
from pathlib import Path

from ebmbench.config.params import load_params
from ebmbench.experiment.samples import sample_run
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.cell import Cell
from ebmbench.workspace.files import read_json, write_json
from ebmbench.workspace.manifest import SAMPLED, materialising
from ebmbench.workspace.progress import progress
from ebmbench.workspace.store import Store


def sample_cell(root: Path, dataset: str, method: str, fresh: bool = False) -> None:
    """Make or find the samples of every run, then materialise the cell's output whole."""
    params = load_params(root)
    cell, sampling = Cell(root, params.benchmark.suite, dataset, method, fresh), params.on(dataset).sampling
    store = Store(cell.work, fresh)
    done = {
        label: sample_run(cell.folder / "train" / label, status, sampling, cell.data, store)
        for label, status in progress.each(cell.runs().items())
    }
    with materialising(cell.folder / "sample", SAMPLED) as folder:
        for label, run in done.items():
            shutil.copytree(run, folder / label, ignore=shutil.ignore_patterns("cost.json"))
    write_json(
        cell.folder / "cost" / "sample.json", {label: read_json(run / "cost.json") for label, run in done.items()}
    )


main = stage_main("sample", sample_cell, __doc__, "dataset", "method", fresh=True)


if __name__ == "__main__":
    sys.exit(main())

"""A cell is (dataset, method): where its files are, and the arguments that name it on the command line."""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ebmbench.core.files import read_json, replace_folder
from ebmbench.core.params import Params
from ebmbench.core.sections import Kind

TRACE = "trace.npz"  # of a run's long chains, in its samples' folder
SNAPSHOT_KIND: Kind = "short"  # what is drawn from snapshots of image models: the one kind that all methods have


@dataclass(frozen=True)
class Cell:
    """Folders of one cell of one suite."""

    root: Path
    suite: str
    dataset: str
    method: str
    fresh: bool = False

    @property
    def folder(self) -> Path:
        """`runs/<suite>/<dataset>/<method>`."""
        return self.root / "runs" / self.suite / self.dataset / self.method

    @property
    def data(self) -> Path:
        """`prepared/<dataset>`."""
        return self.root / "prepared" / self.dataset

    @property
    def features(self) -> Path:
        """`features/<dataset>`."""
        return self.root / "features" / self.dataset

    @property
    def work(self) -> Path:
        """`work`, shared by all cells."""
        return self.root / "work"

    def runs(self) -> dict[str, dict[str, Any]]:
        """The status of every trained run by label."""
        found = (read_json(path) for path in sorted((self.folder / "train").rglob("status.json")))
        return {status["label"]: status for status in found}


def snapshots(run: Path) -> list[Path]:
    """The models that training kept on its way, in their order; `run` is a folder below `train/`."""
    return sorted(run.glob("snapshot-*.safetensors"), key=passes_of)


def passes_of(file: Path) -> int:
    """After how many passes a snapshot was taken."""
    return int(file.stem.partition("-")[2])


@contextmanager
def materialising(target: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `target` when the block succeeds."""
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    replace_folder(part, target)


def cell_parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    """DATASET METHOD [--fresh]."""
    parser = argparse.ArgumentParser(
        prog=f"ebmbench {prog}",
        description=description,
        epilog=f"example: ebmbench {prog} two_moons dsm",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", help="a dataset of params.yaml")
    parser.add_argument("method", help="a method of params.yaml")
    parser.add_argument("--fresh", action="store_true", help="make everything anew, even what work/ still has")
    return parser


def open_cell(root: Path, params: Params, arguments: argparse.Namespace) -> Cell:
    """The cell that the arguments name."""
    return Cell(root, params.benchmark.suite, arguments.dataset, arguments.method, arguments.fresh)

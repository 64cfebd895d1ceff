"""A cell is (dataset, method): where its files are, and the arguments that name it on the command line.

Where a run keeps its own files (in `work/`, which is safe to delete, but for its lock), and where the report is.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ebmbench.config.params import Params
from ebmbench.config.sections import Kind
from ebmbench.config.yaml import plain
from ebmbench.errors import UserError
from ebmbench.workspace.files import read_json
from ebmbench.workspace.store import DIGEST

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
        return {label: self.status(label) for label in self.labels()}

    def labels(self) -> Iterator[str]:
        """The folders below `train/` that say something of a run, whether or not it can be read."""
        train = self.folder / "train"
        for path in sorted(train.rglob("status.json")):
            yield path.parent.relative_to(train).as_posix()

    def status(self, label: str) -> dict[str, Any]:
        """What a run says of itself. Its label and digest name folders elsewhere, so they must be its own."""
        path = self.folder / "train" / label / "status.json"
        again = f"`ebmbench train {self.dataset} {self.method}` makes it again"
        try:
            status = read_json(path)
        except UserError as error:
            raise UserError(f"{error}; {again}") from error
        found = status if isinstance(status, dict) else {}
        for key, right in (("label", found.get("label") == label), ("digest", _is_digest(found.get("digest")))):
            if not right:
                allowed = repr(label) if key == "label" else "16 hex digits"
                raise UserError(f"{path}: {key}: found {str(found.get(key))[:200]!r}, allowed: {allowed}; {again}")
        return found


def snapshots(run: Path) -> list[Path]:
    """The models that training kept on its way, in their order; `run` is a folder below `train/`."""
    return sorted(run.glob("snapshot-*.safetensors"), key=passes_of)


def passes_of(file: Path) -> int:
    """After how many passes a snapshot was taken."""
    return int(file.stem.partition("-")[2])


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None


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


FOLDER = Path("work/flow")
LOCK = Path(".ebmbench/lock")  # not in `work/`: who deletes that during a run must not let a second one in
LOGS = FOLDER / "logs"
OUTCOMES = FOLDER / "outcomes.json"
PULSES = FOLDER / "pulses"

PAGES = ("report.md", "claims.md")
REPORT = "report"  # the stage that reads all cells


def require_pipeline(root: Path) -> None:
    """A folder without `dvc.yaml` is left as it was found."""
    if not (root / "dvc.yaml").exists():
        raise UserError(f"{root}: no dvc.yaml here; this is not the benchmark's folder")


def suite_of(root: Path) -> str:
    """The suite that `params.yaml` names."""
    return str(at(read_mapping(root / "params.yaml"), "benchmark.suite"))


def report_of(root: Path) -> str | None:
    """Where the suite's report is, if it has been written."""
    latest = Path("reports", suite_of(root), "latest")
    pages = [latest / name for name in PAGES if (root / latest / name).exists()]
    return pages[0].as_posix() if pages else None


def read_mapping(path: Path) -> dict[str, Any]:
    """A YAML mapping, or an empty one: whether the file is sound is for DVC and the config to judge."""
    try:
        tree = plain(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return tree if isinstance(tree, dict) else {}


def at(tree: Any, key: str) -> Any:
    """The value at a dotted key, or None."""
    for name in key.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree

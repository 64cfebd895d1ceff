"""A cell is (dataset, method): its folders, and what its trained runs say of themselves."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ebmbench.config.sections import Kind
from ebmbench.errors import UserError
from ebmbench.workspace.files import read_json
from ebmbench.workspace.layout import WORK, cell_folder, features_folder, prepared_folder
from ebmbench.workspace.store import DIGEST

TRACE = "trace.npz"  # of a run's long chains, in its samples' folder
CLASSES = "classes"  # among a run's films: the samples of each class
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
        return cell_folder(self.root, self.suite, self.dataset, self.method)

    @property
    def data(self) -> Path:
        """`prepared/<dataset>`."""
        return prepared_folder(self.root, self.dataset)

    @property
    def features(self) -> Path:
        """`features/<dataset>`."""
        return features_folder(self.root, self.dataset)

    @property
    def work(self) -> Path:
        """`work`, shared by all cells."""
        return self.root / WORK

    def runs(self) -> dict[str, dict[str, Any]]:
        """The status of every trained run by label."""
        return {label: self.status(label) for label in self.labels()}

    def labels(self) -> Iterator[str]:
        """The folders below `train/` that have a status, whether or not it can be read."""
        train = self.folder / "train"
        for path in sorted(train.rglob("status.json")):
            yield path.parent.relative_to(train).as_posix()

    def status(self, label: str) -> dict[str, Any]:
        """The `status.json` of a run. Its label and digest name other folders, so they are checked."""
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
    """The models that training saved on its way, in order; `run` is a folder below `train/`."""
    return sorted(run.glob("snapshot-*.safetensors"), key=passes_of)


def passes_of(file: Path) -> int:
    """After how many passes a snapshot was taken."""
    return int(file.stem.partition("-")[2])


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None

"""What a schedule asks of every run: which revision, which part of it, and where the report goes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines.clone import PLACE


@dataclass(frozen=True)
class Order:
    """The parameters of the flow `scheduled`. Relative folders start at the workspace."""

    workspace: str = "."
    revision: str = "HEAD"
    suite: str | None = None
    jobs: int | None = None
    only: tuple[str, ...] = ()
    keep: str | None = None
    clone: str | None = None
    commit: bool = False

    @property
    def source(self) -> Path:
        """The user's workspace, which is read and never written."""
        return Path(self.workspace).resolve()

    @property
    def folder(self) -> Path:
        """Where the clone is."""
        return (self.source / Path(self.clone or PLACE).expanduser()).resolve()

    @property
    def kept(self) -> Path | None:
        """Where reports are kept, if anywhere."""
        return (self.source / Path(self.keep).expanduser()).resolve() if self.keep else None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The same for Prefect, with folders that mean the same wherever it starts the flow."""
        folders = {"workspace": str(self.source), "clone": str(self.folder), "keep": str(self.kept or "") or None}
        return {**asdict(self), **folders, "only": list(self.only)}

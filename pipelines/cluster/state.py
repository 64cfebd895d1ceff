"""Which state of the project a run is about: workers see a commit and `params.yaml`, nothing else of the workspace."""

from pathlib import Path

from ebmbench.errors import UserError
from ebmbench.workspace.git import git
from ebmbench.workspace.layout import DVC_LOCK, PARAMS_YAML, REPORTS
from pipelines.cluster.errand import Errand

_SENT_OR_MADE = (PARAMS_YAML, DVC_LOCK, f"{REPORTS}/")  # the first goes with every errand, runs write the others
_SHOWN = 3


def errand_of(root: Path) -> Errand:
    """The commit that is checked out and the parameters as they stand; other edits are refused."""
    edits = [path for path in _edited(root) if not path.startswith(_SENT_OR_MADE)]
    if edits:
        more = f" and {len(edits) - _SHOWN} more" if len(edits) > _SHOWN else ""
        raise UserError(
            f"{', '.join(edits[:_SHOWN])}{more}: not committed; workers see commits only: commit, ignore or remove it"
        )
    return Errand(git(root, "rev-parse", "HEAD"), (root / PARAMS_YAML).read_text(encoding="utf-8"))


def _edited(root: Path) -> list[str]:
    """Paths that differ from the commit, and new ones that Git does not ignore."""
    changed = git(root, "diff", "--name-only", "--no-renames", "-z", "HEAD")
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return [path for path in f"{changed}\0{new}".split("\0") if path]

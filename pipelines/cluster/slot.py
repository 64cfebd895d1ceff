"""A worker's own clone: nobody else works there, so it can be brought to any commit.

It is kept from errand to errand, with its DVC cache and its `work/`. `dvc.lock` is not taken from the commit: its
entries name outputs that somebody once made, and where the remote does not have exactly those DVC would run a stage
again rather than look into the run-cache.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from ebmbench.config.yaml import read_mapping
from ebmbench.errors import UserError
from ebmbench.workspace.files import write_text
from ebmbench.workspace.git import git, git_succeeds
from ebmbench.workspace.layout import DVC_LOCK, PARAMS_YAML
from pipelines.cluster.remote import share_remote
from pipelines.flows.clone import check_out, claim, variables

_SETTLED = ".git/ebmbench-slot"  # the commit whose own lock has been taken away
_ROOT, _SOURCE = "EBMBENCH_SLOT", "EBMBENCH_SOURCE"


@dataclass(frozen=True)
class Slot:
    """The clone `root`, which gets its commits from the repository `source` of the same machine."""

    root: Path
    source: Path

    @classmethod
    def here(cls) -> "Slot":
        """The slot of this worker's process."""
        return cls(Path(os.environ[_ROOT]), Path(os.environ[_SOURCE]))

    def variables(self) -> dict[str, str]:
        """By which the worker's process finds it."""
        return {_ROOT: str(self.root), _SOURCE: str(self.source)}

    def adopt(self, commit: str, params: str) -> dict[str, str]:
        """Bring the clone to a commit with these parameters; the variables for what runs there."""
        claim(self.root)
        self._obtain(commit)
        if not check_out(self.root, self.source, commit):
            (self.root / DVC_LOCK).unlink(missing_ok=True)
            (self.root / _SETTLED).write_text(commit, encoding="utf-8")
        elif not self._settled(commit):  # killed between the two, or by a power cut
            (self.root / DVC_LOCK).unlink(missing_ok=True)
            (self.root / ".dvc" / "tmp" / "rwlock").unlink(missing_ok=True)
            (self.root / _SETTLED).write_text(commit, encoding="utf-8")
        if (self.root / PARAMS_YAML).read_text(encoding="utf-8") != params:
            write_text(self.root / PARAMS_YAML, params)
        share_remote(self.source, self.root)
        return variables(self.root, self.source)

    def _settled(self, commit: str) -> bool:
        """Whether the clone's lock tells of the clone's own results, and is whole."""
        mark, lock = self.root / _SETTLED, self.root / DVC_LOCK
        known = mark.exists() and mark.read_text(encoding="utf-8") == commit
        return known and (not lock.exists() or isinstance(read_mapping(lock).get("stages"), dict))

    def _obtain(self, commit: str) -> None:
        """What the machine's own repository does not have yet is looked for where that came from."""
        if any(git_succeeds(place, "cat-file", "-e", f"{commit}^{{commit}}") for place in (self.root, self.source)):
            return
        if git_succeeds(self.source, "remote", "get-url", "origin"):
            origin = git(self.source, "remote", "get-url", "origin")
            if git_succeeds(self.root, "-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", origin, commit):
                return
        raise UserError(f"commit {commit[:7]} is neither in {self.source} nor at its origin; push it there first")

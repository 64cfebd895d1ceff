"""The clone of one worker process, which can be brought to any commit because nobody else uses it.

It is kept from job to job, with its DVC cache and its `work/`. The commit's own `dvc.lock` is removed: it names outputs
of another machine, and where the remote does not have exactly those, DVC would run a stage again and not look into the
run-cache.
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
from pipelines.execution.clone import check_out, clone_variables, init_clone

_LOCK_REMOVED = ".git/ebmbench-worker"  # holds the commit whose own dvc.lock was removed
_ROOT, _SOURCE = "EBMBENCH_WORKER_CLONE", "EBMBENCH_WORKER_SOURCE"


@dataclass(frozen=True)
class WorkerClone:
    """The clone `root`, which gets its commits from the repository `source` on the same machine."""

    root: Path
    source: Path

    @classmethod
    def current(cls) -> "WorkerClone":
        """The clone of this worker process."""
        return cls(Path(os.environ[_ROOT]), Path(os.environ[_SOURCE]))

    def variables(self) -> dict[str, str]:
        """The environment variables by which the worker process finds its clone."""
        return {_ROOT: str(self.root), _SOURCE: str(self.source)}

    def check_out(self, commit: str, params: str) -> dict[str, str]:
        """Bring the clone to a commit with this `params.yaml`; returns the environment variables for its stages."""
        init_clone(self.root)
        self._fetch(commit)
        unchanged = check_out(self.root, self.source, commit)
        if not unchanged or not self._has_own_lock(commit):
            if unchanged:  # a worker was killed, or the power was cut
                (self.root / ".dvc" / "tmp" / "rwlock").unlink(missing_ok=True)
            (self.root / DVC_LOCK).unlink(missing_ok=True)
            (self.root / _LOCK_REMOVED).write_text(commit, encoding="utf-8")
        if (self.root / PARAMS_YAML).read_text(encoding="utf-8") != params:
            write_text(self.root / PARAMS_YAML, params)
        share_remote(self.source, self.root)
        return clone_variables(self.root, self.source)

    def _has_own_lock(self, commit: str) -> bool:
        """Whether `dvc.lock` is complete and was written in this clone, or is missing."""
        mark, lock = self.root / _LOCK_REMOVED, self.root / DVC_LOCK
        removed = mark.exists() and mark.read_text(encoding="utf-8") == commit
        return removed and (not lock.exists() or isinstance(read_mapping(lock).get("stages"), dict))

    def _fetch(self, commit: str) -> None:
        """Fetch a commit that the machine's repository does not have from that repository's origin."""
        if any(git_succeeds(place, "cat-file", "-e", f"{commit}^{{commit}}") for place in (self.root, self.source)):
            return
        if git_succeeds(self.source, "remote", "get-url", "origin"):
            origin = git(self.source, "remote", "get-url", "origin")
            if git_succeeds(self.root, "-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", origin, commit):
                return
        raise UserError(f"commit {commit[:7]} is neither in {self.source} nor at its origin; push it there first")

"""Clones of the user's repository for scheduled runs and for workers: one commit, with its own files and DVC cache.

A clone is kept from run to run. Runs rewrite `dvc.lock` and `reports/`, which tell DVC what is up to date: while the
commit is the same they stay, so a second run finds nothing to do. When another commit is checked out, `dvc.lock` stays
too. The commit's own names outputs of the user's machine, and where those are not in the cache, DVC runs a stage
without looking into its run-cache.

Everything in a clone is run by the clone's own code: Python looks there first, whatever is installed.
"""

import os
import subprocess
import sys
from pathlib import Path

from ebmbench.config.yaml import lookup, read_mapping
from ebmbench.errors import UserError
from ebmbench.workspace.files import write_text
from ebmbench.workspace.git import git, git_succeeds
from ebmbench.workspace.layout import DATA_ROOT, DOWNLOADS, DVC_LOCK, PARAMS_YAML, REPORTS
from pipelines.execution.dvc import environment
from pipelines.execution.process import last_error

_MARK = "ebmbench.scheduled"  # a Git setting of the clones that we made
_WRITTEN_BY_RUNS = (f":(exclude){DVC_LOCK}", f":(exclude){REPORTS}")
# What `ebmbench run` does before it plans: check the parameters, remove old cells, fill `work/` from `runs/`.
_PREPARE = """\
import sys
from pathlib import Path
from ebmbench.errors import UserError
from ebmbench.config.params import load_params
from ebmbench.stages import preparation
try:
    preparation.prepare_workspace(Path(), load_params(Path()))
except UserError as error:
    sys.exit(f"error: {error}")
"""
# The same for commits before 0.8.0, whose modules had other names.
_OLD_PREPARE = (
    _PREPARE.replace("ebmbench.errors", "ebmbench.core.errors")
    .replace("ebmbench.config", "ebmbench.core")
    .replace("import preparation", "import workspace")
    .replace("preparation.prepare_workspace", "workspace.ready")
)


def resolve_commit(workspace: Path, revision: str) -> str:
    """The commit of a branch, tag or abbreviated commit in the user's repository."""
    if not git_succeeds(workspace, "rev-parse", "--git-dir"):
        raise UserError(f"{workspace}: not a Git repository, so there is no revision to run")
    if revision.startswith("-") or not git_succeeds(workspace, "rev-parse", "--verify", f"{revision}^{{commit}}"):
        raise UserError(f"--revision: found '{revision}', allowed: a branch, a tag or a commit of {workspace}")
    return git(workspace, "rev-parse", "--verify", f"{revision}^{{commit}}")


def has_uncommitted_changes(workspace: Path, reports: Path | None = None) -> bool:
    """Whether the workspace has changes that a clone does not get; copied reports do not count."""
    inside = reports is not None and reports.is_relative_to(workspace)
    exclude = [f":(exclude){reports.relative_to(workspace)}"] if reports is not None and inside else []
    return bool(git(workspace, "status", "--porcelain", "--", ".", *exclude))


def init_clone(folder: Path) -> None:
    """Make the folder an empty clone, unless it is one. A repository or files of somebody else are refused."""
    if (folder / ".git").exists():
        if not is_managed_clone(folder):
            raise UserError(f"{folder}: a repository that ebmbench did not make; name a new folder with --clone")
        return
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: not empty, and not a clone that ebmbench made; name a new folder with --clone")
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "-c", "init.defaultBranch=none", "init", "--quiet")
    git(folder, "config", "--local", _MARK, "true")


def is_managed_clone(folder: Path) -> bool:
    """Whether `init_clone` made this repository: only such a one may be emptied or removed."""
    return (folder / ".git").exists() and git_succeeds(folder, "config", "--local", "--get", _MARK)


def check_out(folder: Path, workspace: Path, commit: str) -> bool:
    """Bring a clone to the commit; returns whether it was there already. Nothing else may run in the clone."""
    (folder / ".git" / "index.lock").unlink(missing_ok=True)  # of a checkout that was killed
    if not git_succeeds(folder, "rev-parse", "--verify", "--quiet", "HEAD"):
        _switch(folder, workspace, commit)
        return False
    if git(folder, "rev-parse", "HEAD") == commit:
        git(folder, "checkout", "--quiet", "HEAD", "--", ".", *_WRITTEN_BY_RUNS)
        return True
    lock = folder / DVC_LOCK
    own = lock.read_text(encoding="utf-8") if lock.exists() else None
    _switch(folder, workspace, commit)
    if own is not None:
        write_text(lock, own)
    return False


def _switch(folder: Path, workspace: Path, commit: str) -> None:
    if not git_succeeds(folder, "cat-file", "-e", f"{commit}^{{commit}}"):
        # Only version 2 of the protocol gives a commit that is no branch; the user's own clone may be a shallow one.
        fetch = ("-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", "--update-shallow")
        git(folder, *fetch, str(workspace), commit)
    git(folder, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach", commit)


def clone_variables(folder: Path, workspace: Path) -> dict[str, str]:
    """The environment variables of everything that runs in the clone: its code, and the workspace's image files."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    data = _data_folder(folder, workspace)
    return {"PYTHONPATH": path, **({DATA_ROOT: str(data)} if data else {})}


def prepare_clone(folder: Path, suite: str | None) -> None:
    """Write the suite, if one is named, into the clone's `params.yaml`, and do what `ebmbench run` does first."""
    if suite:
        _run_python(folder, "-m", "ebmbench", "suite", "use", suite, "--force")
    if (folder / "ebmbench" / "stages" / "preparation.py").exists():
        _run_python(folder, "-c", _PREPARE)
    elif (folder / "ebmbench" / "stages" / "workspace.py").exists():
        _run_python(folder, "-c", _OLD_PREPARE)


def _data_folder(folder: Path, workspace: Path) -> Path | None:
    """The workspace's folder of image files: Git does not track them, and the clone would download them again."""
    if name := os.environ.get(DATA_ROOT):
        return workspace / name  # which is `name` itself if it is absolute
    own = lookup(read_mapping(folder / PARAMS_YAML), "data.root")
    place = Path(str(own)).expanduser() if own else DOWNLOADS
    here = workspace / place
    return here if not place.is_absolute() and here.is_dir() and not (folder / place).exists() else None


def _run_python(folder: Path, *arguments: str) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(last_error(done.stderr) or f"{folder} could not be prepared: {done.stderr.strip()[-500:]}")

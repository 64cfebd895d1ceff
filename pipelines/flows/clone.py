"""A clone for runs that nobody watches: one commit of the user's repository, with its own files and DVC cache.

It is kept from run to run. Runs rewrite `dvc.lock` and `reports/`, and these tell DVC what is up to date: as long as
the commit is the same they stay, so a second run finds nothing to do. Another commit is checked out over them, but
for `dvc.lock`: the commit's own tells of outputs that the user's machine has (seconds are among them), and where it
names outputs that are not in the cache, DVC runs a stage without looking into its run-cache.

Work inside a clone is done by the clone's own code: Python looks there first, whatever is installed.
"""

import os
import subprocess
import sys
from pathlib import Path

from ebmbench.config.yaml import lookup, read_mapping
from ebmbench.errors import UserError
from ebmbench.workspace.files import write_text
from ebmbench.workspace.git import git, git_succeeds
from ebmbench.workspace.layout import DOWNLOADS, DVC_LOCK, PARAMS_YAML, REPORTS
from pipelines.execution.dvc import environment
from pipelines.execution.process import complaint

_MARK = "ebmbench.scheduled"
_WRITTEN_BY_RUNS = (f":(exclude){DVC_LOCK}", f":(exclude){REPORTS}")


def commit_of(workspace: Path, revision: str) -> str:
    """The commit that a branch, a tag or a commit's name means in the user's repository now."""
    if not git_succeeds(workspace, "rev-parse", "--git-dir"):
        raise UserError(f"{workspace}: not a Git repository, so there is no revision to run")
    if revision.startswith("-") or not git_succeeds(workspace, "rev-parse", "--verify", f"{revision}^{{commit}}"):
        raise UserError(f"--revision: found '{revision}', allowed: a branch, a tag or a commit of {workspace}")
    return git(workspace, "rev-parse", "--verify", f"{revision}^{{commit}}")


def is_edited(workspace: Path, reports: Path | None = None) -> bool:
    """Whether the workspace has changes that no commit has, and so no clone; kept reports are none."""
    inside = reports is not None and reports.is_relative_to(workspace)
    but = [f":(exclude){reports.relative_to(workspace)}"] if reports is not None and inside else []
    return bool(git(workspace, "status", "--porcelain", "--", ".", *but))


def claim(folder: Path) -> None:
    """Make the folder a repository for schedules. One that anybody else made is refused: its files would be lost."""
    if (folder / ".git").exists():
        if not is_claimed(folder):
            raise UserError(f"{folder}: a repository that no schedule made; name a new folder with --clone")
        return
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: not empty, and no clone of a schedule; name a new folder with --clone")
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "-c", "init.defaultBranch=none", "init", "--quiet")
    git(folder, "config", "--local", _MARK, "true")


def is_claimed(folder: Path) -> bool:
    """Whether a folder is a repository that we made: only such a one may be emptied or removed."""
    return (folder / ".git").exists() and git_succeeds(folder, "config", "--local", "--get", _MARK)


def check_out(folder: Path, workspace: Path, commit: str) -> bool:
    """Bring a claimed clone to the commit; whether it was there already. Nobody else may be at work in it."""
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


_DATA = "EBMBENCH_DATA"
# What `ebmbench run` does before it plans: check the parameters, remove old cells, fill `work/` from `runs/`.
_READY = """\
import sys
from pathlib import Path
from ebmbench.errors import UserError
from ebmbench.config.params import load_params
from ebmbench.stages import preparation
try:
    preparation.ready(Path(), load_params(Path()))
except UserError as error:
    sys.exit(f"error: {error}")
"""


def variables(folder: Path, workspace: Path) -> dict[str, str]:
    """The environment of everything that runs in the clone: its code, and the files that the workspace has."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    data = _data(folder, workspace)
    return {"PYTHONPATH": path, **({_DATA: str(data)} if data else {})}


def make_ready(folder: Path, suite: str | None) -> None:
    """Write the suite, if one is asked for, into the clone's `params.yaml`, and make the clone ready for a plan."""
    if suite:
        _python(folder, "-m", "ebmbench", "suite", "use", suite, "--force")
    if (folder / "ebmbench" / "stages" / "preparation.py").exists():
        _python(folder, "-c", _READY)


def _data(folder: Path, workspace: Path) -> Path | None:
    """Where image files are: a clone has none of the workspace's that Git does not know, and would download them."""
    if named := os.environ.get(_DATA):
        return workspace / named  # which is `named` itself if it is absolute
    own = lookup(read_mapping(folder / PARAMS_YAML), "data.root")
    place = Path(str(own)).expanduser() if own else DOWNLOADS
    here = workspace / place
    return here if not place.is_absolute() and here.is_dir() and not (folder / place).exists() else None


def _python(folder: Path, *arguments: str) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(complaint(done.stderr) or f"{folder} could not be made ready: {done.stderr.strip()[-500:]}")

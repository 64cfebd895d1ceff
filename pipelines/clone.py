"""A clone for runs that nobody watches: one commit of the user's repository, with its own files and DVC cache.

It is kept from run to run. Runs rewrite `dvc.lock` and `reports/`, and these tell DVC what is up to date: as long as
the commit is the same they stay, so a second run finds nothing to do. Another commit is checked out over them, but
for `dvc.lock`: the commit's own tells of outputs that the user's machine has (seconds are among them), and where it
names outputs that are not in the cache, DVC runs a stage without looking into its run-cache.
"""

from pathlib import Path

from ebmbench.core.errors import UserError
from ebmbench.core.files import write_text
from pipelines.git import git, says

PLACE = Path("work/scheduled/clone")  # ignored by Git and DVC, on the workspace's disk, spared by `ebmbench clean`
_MARK = "ebmbench.scheduled"
_WRITTEN_BY_RUNS = (":(exclude)dvc.lock", ":(exclude)reports")


def commit_of(workspace: Path, revision: str) -> str:
    """The commit that a branch, a tag or a commit's name means in the user's repository now."""
    if not says(workspace, "rev-parse", "--git-dir"):
        raise UserError(f"{workspace}: not a Git repository, so there is no revision to run")
    if revision.startswith("-") or not says(workspace, "rev-parse", "--verify", f"{revision}^{{commit}}"):
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
    return (folder / ".git").exists() and says(folder, "config", "--local", "--get", _MARK)


def check_out(folder: Path, workspace: Path, commit: str) -> bool:
    """Bring a claimed clone to the commit; whether it was there already. Nobody else may be at work in it."""
    (folder / ".git" / "index.lock").unlink(missing_ok=True)  # of a checkout that was killed
    if not says(folder, "rev-parse", "--verify", "--quiet", "HEAD"):
        _switch(folder, workspace, commit)
        return False
    if git(folder, "rev-parse", "HEAD") == commit:
        git(folder, "checkout", "--quiet", "HEAD", "--", ".", *_WRITTEN_BY_RUNS)
        return True
    lock = folder / "dvc.lock"
    own = lock.read_text(encoding="utf-8") if lock.exists() else None
    _switch(folder, workspace, commit)
    if own is not None:
        write_text(lock, own)
    return False


def _switch(folder: Path, workspace: Path, commit: str) -> None:
    if not says(folder, "cat-file", "-e", f"{commit}^{{commit}}"):
        # Only version 2 of the protocol gives a commit that is no branch; the user's own clone may be a shallow one.
        fetch = ("-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", "--update-shallow")
        git(folder, *fetch, str(workspace), commit)
    git(folder, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach", commit)

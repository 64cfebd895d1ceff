"""What is left of a scheduled run: a copy of its report, and if the user wants it a commit on a branch of its own.

After a run: what moved since the suite's last release, told in one line and kept as a page.

A courtesy, as the artifacts are: whatever goes wrong here is said in that line, and the run is what it was.
"""

import time
from dataclasses import replace
from pathlib import Path

from ebmbench.workspace.files import copy_folder
from ebmbench.workspace.git import git, git_succeeds
from ebmbench.workspace.layout import DVC_LOCK, PARAMS_YAML, REPORT, REPORTS, suite_of
from pipelines.outcome import RAN, RESTORED, Result

_RESULTS = (DVC_LOCK, PARAMS_YAML, REPORTS)


def keep_report(root: Path, result: Result, tested: str, folder: Path) -> Path | None:
    """Copy the report that this run wrote; None if it wrote none, so that equal reports do not pile up."""
    made = result.stages.get(REPORT)
    if result.report is None or made is None or made.kind not in (RAN, RESTORED):
        return None
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target = folder / suite_of(root) / f"{moment}-{tested[:7]}"
    copy_folder((root / result.report).parent, target)
    return target


def commit_results(root: Path, result: Result, tested: str, workspace: Path) -> str | None:
    """Give the user's repository a branch with the results on top of the tested commit; its name, if it is new.

    The branch is named by suite and commit, so it is never one that the user works on. The clone itself stays at
    the tested commit: by that the next run knows that it has been here.
    """
    if result.exit_code or not result.stages:
        return None
    git(root, "add", "--all", "--", *(name for name in _RESULTS if (root / name).exists()))
    tree = git(root, "write-tree")
    git(root, "reset", "--quiet")
    if tree == git(root, "rev-parse", "HEAD^{tree}"):
        return None
    suite = suite_of(root)
    title = f"Results of the suite {suite} at {tested[:7]}, made by a schedule"
    made = git(root, *_identity(workspace), "commit-tree", tree, "-p", tested, "-m", title)
    branch = f"scheduled/{suite}/{tested[:7]}"
    git(root, "push", "--quiet", "--force", str(workspace), f"{made}:refs/heads/{branch}")
    return branch


def _identity(workspace: Path) -> list[str]:
    """The user's name as the workspace has it, for it may be set there alone."""
    known = {key: git(workspace, "config", key) for key in ("user.name", "user.email") if _has(workspace, key)}
    identity = {"user.name": "ebmbench serve", "user.email": "ebmbench@localhost", **known}
    return [part for key, value in identity.items() for part in ("-c", f"{key}={value}")]


def _has(workspace: Path, key: str) -> bool:
    return git_succeeds(workspace, "config", "--get", key)


def attach(root: Path, result: Result) -> Result:
    """The result with the comparison, if this run made a report and there is a release to compare it with."""
    made = result.stages.get(REPORT)
    if result.stopped or made is None or not made.good:
        return result
    try:
        from ebmbench.report.compare.page import compare_with_release

        since = compare_with_release(root, suite_of(root))
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        return replace(result, since=f"not compared with the last release: {words}")
    return replace(result, since=since.line, comparison=since.path) if since else result

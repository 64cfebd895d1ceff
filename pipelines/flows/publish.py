"""What a run is called and what remains of it: its cells' numbers, a comparison, a copy of its report, a commit."""

import time
from dataclasses import replace
from pathlib import Path

from ebmbench.config.yaml import lookup, plain
from ebmbench.workspace.files import copy_folder
from ebmbench.workspace.git import ask_git, git, git_succeeds
from ebmbench.workspace.layout import DVC_LOCK, PARAMS_YAML, REPORT, REPORTS, suite_of
from pipelines.outcome import RAN, RESTORED, Result

_RESULTS = (DVC_LOCK, PARAMS_YAML, REPORTS)


def name_run(repository: Path, revision: str, suite: str | None) -> str:
    """The name of a flow run, as `quick-fef9d67`: the suite (none: that of the revision) and the commit."""
    text = ask_git(repository, "show", f"{revision}:{PARAMS_YAML}") if suite is None else ""
    suite = suite or (lookup(plain(text), "benchmark.suite") if text else None)
    return "-".join(filter(None, [suite, ask_git(repository, "rev-parse", "--short=7", revision)])) or "benchmark"


def add_standings(root: Path, result: Result) -> Result:
    """Add how each cell that ran stands in the report that this run made: main metric, rank, the best method's value.

    Numbers that cannot be read are only mentioned; the run is not failed by them.
    """
    report = result.stages.get(REPORT)
    ran = {cell for cell, outcome in result.cells.items() if outcome.kind in (RAN, RESTORED)}
    if not ran or result.report is None or report is None or not report.good:
        return result
    try:
        from ebmbench.report.statistics.standings import describe_cells

        return replace(result, standings=tuple(describe_cells((root / result.report).parent, ran)))
    except Exception as error:
        return replace(result, standings=({"line": f"no numbers of the cells: {_words(error)}"},))


def add_comparison(root: Path, result: Result) -> Result:
    """Add what changed since the suite's last release, if this run made a report and there is a release.

    A comparison that fails is only mentioned; the run is not failed by it.
    """
    report = result.stages.get(REPORT)
    if result.stopped or report is None or not report.good:
        return result
    try:
        from ebmbench.report.compare.page import compare_with_release

        since = compare_with_release(root, suite_of(root))
    except Exception as error:
        return replace(result, since=f"not compared with the last release: {_words(error)}")
    return replace(result, since=since.line, comparison=since.path) if since else result


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def copy_report(root: Path, result: Result, commit: str, folder: Path) -> Path | None:
    """Copy the report to `folder/<suite>/<time>-<commit>/`; None if this run did not write a new one."""
    report = result.stages.get(REPORT)
    if result.report is None or report is None or report.kind not in (RAN, RESTORED):
        return None
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target = folder / suite_of(root) / f"{moment}-{commit[:7]}"
    copy_folder((root / result.report).parent, target)
    return target


def commit_results(root: Path, result: Result, commit: str, workspace: Path) -> str | None:
    """Push a branch with the results on top of `commit` to the user's repository; returns its name, None if not new.

    The branch is named after suite and commit, so it is never one that the user works on. The clone stays at `commit`:
    by that the next run knows that nothing is new.
    """
    if result.exit_code or not result.stages:
        return None
    git(root, "add", "--all", "--", *(name for name in _RESULTS if (root / name).exists()))
    tree = git(root, "write-tree")
    git(root, "reset", "--quiet")
    if tree == git(root, "rev-parse", "HEAD^{tree}"):
        return None
    suite = suite_of(root)
    title = f"Results of the suite {suite} at {commit[:7]}, made by a schedule"
    results = git(root, *_identity(workspace), "commit-tree", tree, "-p", commit, "-m", title)
    branch = f"scheduled/{suite}/{commit[:7]}"
    git(root, "push", "--quiet", "--force", str(workspace), f"{results}:refs/heads/{branch}")
    return branch


def _identity(workspace: Path) -> list[str]:
    """Git options with the user's name and address, which may be set in the workspace alone."""
    identity = {"user.name": "ebmbench serve", "user.email": "ebmbench@localhost"}
    for key in identity:
        if git_succeeds(workspace, "config", "--get", key):
            identity[key] = git(workspace, "config", key)
    return [part for key, value in identity.items() for part in ("-c", f"{key}={value}")]

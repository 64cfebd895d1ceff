"""Git: `git` raises where Git refuses, `ask_git` answers with nothing, `git_succeeds` with yes or no."""

import os
import subprocess
from pathlib import Path

from ebmbench.errors import UserError


def git(root: Path, *arguments: str) -> str:
    """What `git <arguments>` prints in that folder; a `UserError` with Git's own words if it fails."""
    try:
        answer = _call(root, arguments)
    except OSError as error:
        raise UserError(f"git cannot be called in {root}: {error.strerror or error}") from error
    if answer.returncode:
        message = " ".join(answer.stderr.split()) or "no message"
        raise UserError(f"git {' '.join(arguments)} failed in {root}: {message}")
    return answer.stdout.strip()


def ask_git(root: Path, *arguments: str) -> str:
    """What Git prints; empty if it refuses, and where there is no Git or no repository."""
    try:
        answer = _call(root, arguments)
    except (OSError, ValueError):  # no Git; or a name that no argument can hold
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def git_succeeds(root: Path, *arguments: str) -> bool:
    """Whether Git ends with success: for questions whose answer is the exit code."""
    return _call(root, arguments).returncode == 0


def _call(root: Path, arguments: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    # In a Git hook these name another repository than the folder's.
    inherited = {k: v for k, v in os.environ.items() if k not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")}
    env = {**inherited, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", *arguments]
    # Git writes UTF-8 whatever the locale is.
    return subprocess.run(
        command, cwd=root, env=env, capture_output=True, encoding="utf-8", errors="replace", check=False
    )

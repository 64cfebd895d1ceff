"""What Git says of the project, asked in one place.

Git as a command, for what must not go wrong in silence: a refusal is raised in Git's own words.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

from ebmbench.errors import UserError

# Git writes UTF-8 whatever the locale says.
TEXT: Any = {"encoding": "utf-8", "errors": "replace"}


def ask_git(root: Path, *arguments: str) -> str:
    """What Git answers, or nothing if it refuses, and where there is no Git or no repository."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False, **TEXT)
    except (OSError, ValueError):  # no Git; or a name that no argument can hold
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def git(root: Path, *arguments: str) -> str:
    """What `git <arguments>` prints in that folder; a `UserError` if it fails."""
    try:
        answer = _call(root, arguments)
    except OSError as error:
        raise UserError(f"git cannot be called in {root}: {error.strerror or error}") from error
    if answer.returncode:
        said = " ".join(answer.stderr.split()) or "no message"
        raise UserError(f"git {' '.join(arguments)} failed in {root}: {said}")
    return answer.stdout.strip()


def says(root: Path, *arguments: str) -> bool:
    """Whether Git answers with yes: a question whose answer is the exit code."""
    return _call(root, arguments).returncode == 0


def _call(root: Path, arguments: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    # In a Git hook these name another repository than the folder's.
    inherited = {k: v for k, v in os.environ.items() if k not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")}
    env = {**inherited, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    return subprocess.run(["git", *arguments], cwd=root, env=env, capture_output=True, text=True, check=False)

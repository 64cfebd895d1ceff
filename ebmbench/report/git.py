"""What Git says of the project, asked in one place."""

import subprocess
from pathlib import Path
from typing import Any

# Git writes UTF-8 whatever the locale says.
TEXT: Any = {"encoding": "utf-8", "errors": "replace"}


def git(root: Path, *arguments: str) -> str:
    """What Git answers, or nothing if it refuses, and where there is no Git or no repository."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False, **TEXT)
    except (OSError, ValueError):  # no Git; or a name that no argument can hold
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""

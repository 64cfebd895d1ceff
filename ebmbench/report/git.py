"""What Git says of the project, asked in one place."""

import subprocess
from pathlib import Path


def git(root: Path, *arguments: str) -> str:
    """What Git answers, or nothing if it refuses, and where there is no Git or no repository."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""

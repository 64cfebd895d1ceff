"""`ebmbench clean`: empty `work/`, which holds only what can be made again."""

import argparse
import shutil
from typing import Any

from ebmbench.cli.command import add_command, project


def add(commands: Any) -> None:
    """Register the command."""
    add_command(
        commands, "clean", "Empty work/: checkpoints, and finished runs that DVC's cache has too", "ebmbench clean", act
    )


def act(_: argparse.Namespace) -> int:
    """Remove the folder and say how much it held."""
    from pipelines.lock import only_flow

    root = project()
    with only_flow(root):  # not under the feet of a running flow
        size = sum(file.stat().st_size for file in (root / "work").rglob("*") if file.is_file())
        shutil.rmtree(root / "work", ignore_errors=True)
    print(f"freed {size / 2**20:.1f} MiB")
    return 0

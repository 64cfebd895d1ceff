"""`ebmbench clean`: free the disk of what `work/` holds, and say how much of what."""

import argparse
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmbench.cli.command import add_command, project
from ebmbench.workspace.layout import WORK

if TYPE_CHECKING:
    from ebmbench.workspace.disk import Share

TEXT = (
    "Empty work/ of what is cheap to lose: finished results (runs/ and DVC's cache have them), logs, leftovers. "
    "Half-finished runs, downloads and the clones of schedules and workers stay, unless --all. What ebmbench did not "
    "write is never removed (docs/disk.md tells more)"
)


def add(commands: Any) -> None:
    """Register the command."""
    command = add_command(commands, "clean", TEXT, "ebmbench clean --dry-run", act)
    command.add_argument("--dry-run", action="store_true", help="say what would be freed, and remove nothing")
    command.add_argument("--all", action="store_true", help="half-finished runs, downloads and clones too")


def act(arguments: argparse.Namespace) -> int:
    """Remove, unless it is a dry run, and tell."""
    from ebmbench.workspace.disk import CHEAP, DEAR, FOREIGN, require_no_stage, shares
    from ebmbench.workspace.locks import hold_workspace
    from pipelines.flows.clone import is_claimed

    root = project()
    with hold_workspace(root), ExitStack() as held:  # not under the feet of a running flow
        require_no_stage(root)
        found = shares(root / WORK, is_claimed)
        doomed = {kind: share for kind, share in found.items() if kind in (CHEAP + DEAR if arguments.all else CHEAP)}
        for path in _paths(doomed):
            if (path / ".git").exists():  # a clone
                held.enter_context(hold_workspace(path))
        if not arguments.dry_run:
            _remove(_paths(doomed), root / WORK)
    kept = {kind: share for kind, share in found.items() if kind not in doomed}
    foreign = [path.relative_to(root).as_posix() for path in kept[FOREIGN].paths] if FOREIGN in kept else []
    hint = " (--all frees the rest)" if any(kind in DEAR for kind in kept) else ""
    print("\n".join(_told(doomed, kept, foreign, "would free" if arguments.dry_run else "freed")) + hint)
    return 0


def _paths(shares: "dict[str, Share]") -> list[Path]:
    return [path for share in shares.values() for path in share.paths]


def _remove(paths: list[Path], work: Path) -> None:
    for path in paths:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        with suppress(OSError):  # something is left in it
            for folder in path.parents:
                if folder == work.parent:
                    break
                folder.rmdir()


def _told(doomed: "dict[str, Share]", kept: "dict[str, Share]", foreign: list[str], verb: str) -> list[str]:
    lines = [f"{verb} {_mebibytes(share)}  {kind}" for kind, share in doomed.items()]
    lines += [f"kept {_mebibytes(share)}  {kind}" for kind, share in kept.items()]
    if foreign:  # the last kind
        lines[-1] += f": {', '.join(foreign[:3])}{f' and {len(foreign) - 3} more' if len(foreign) > 3 else ''}"
    return [*lines, f"{verb} {sum(share.size for share in doomed.values()) / 2**20:.1f} MiB"]


def _mebibytes(share: "Share") -> str:
    return f"{share.size / 2**20:9.1f} MiB"

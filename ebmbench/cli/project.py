"""`ebmbench list` (the plug-ins), `ebmbench suite` (list the suites or switch) and `ebmbench clean` (free the disk)."""

import argparse
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmbench.cli.command import add_command, find_root
from ebmbench.config.registry import KINDS, entries
from ebmbench.workspace.layout import WORK

if TYPE_CHECKING:
    from ebmbench.workspace.disk import Share

LIST_TEXT = "List methods, datasets, metrics, samplers, models and baselines with paper, year and link"
SUITE_TEXT = "List the suites, or write one into params.yaml"
CLEAN_TEXT = (
    "Remove from work/ what is cheap to lose: finished results (runs/ and DVC's cache have them), logs, leftovers. "
    "Half-finished runs, downloads and the clones of schedules and workers stay, unless --all. What ebmbench did not "
    "write is never removed (more in docs/disk.md)"
)
TITLES = {kind: "datasets" if kind == "data" else kind for kind in KINDS}


def add_commands(commands: Any) -> None:
    """Register `list`, `suite` and `clean`."""
    command = add_command(commands, "list", LIST_TEXT, "ebmbench list methods", list_plugins)
    command.add_argument("kind", nargs="?", choices=[*TITLES.values()], help="only this kind")

    command = add_command(commands, "suite", SUITE_TEXT, "ebmbench suite use toy2d", suite)
    command.add_argument("action", choices=["list", "use"])
    command.add_argument("name", nargs="?", help="a file of suites/, without .yaml")
    command.add_argument("--force", action="store_true", help="drop edits of params.yaml that are in no suite")

    command = add_command(commands, "clean", CLEAN_TEXT, "ebmbench clean --dry-run", clean)
    command.add_argument("--dry-run", action="store_true", help="say what would be freed, and remove nothing")
    command.add_argument("--all", action="store_true", help="also half-finished runs, downloads and clones")


def list_plugins(arguments: argparse.Namespace) -> int:
    """Print a table for each kind of plug-in."""
    for kind, title in TITLES.items():
        if arguments.kind not in (None, title):
            continue
        print(title)
        width = max(map(len, entries(kind)), default=0)
        for entry in entries(kind).values():
            lines = [f"{entry.year}  {entry.title}", *(f"      {line}" for line in (entry.paper, *entry.links))]
            print(f"  {entry.name:<{width}}  " + f"\n  {'':<{width}}  ".join(lines))
        print()
    return 0


def suite(arguments: argparse.Namespace) -> int:
    """List the suites, or write one into `params.yaml`."""
    from ebmbench.config import suites

    root = Path.cwd()
    if arguments.action == "list":
        for name, text in suites.available(root).items():
            print(f"{name:<12} {text}")
        return 0
    suites.use(root, arguments.name or "", force=arguments.force)
    print(f"params.yaml is now suite '{arguments.name}'")
    return 0


def clean(arguments: argparse.Namespace) -> int:
    """Remove what is cheap to lose, or with `--all` more, and print how much of what."""
    from ebmbench.workspace.disk import CHEAP, DEAR, FOREIGN, require_no_stage, shares
    from ebmbench.workspace.locks import hold_workspace
    from pipelines.execution.clone import is_managed_clone

    root = find_root()
    with hold_workspace(root), ExitStack() as locks:
        require_no_stage(root)
        found = shares(root / WORK, is_managed_clone)
        doomed = {kind: share for kind, share in found.items() if kind in (CHEAP + DEAR if arguments.all else CHEAP)}
        for path in _paths(doomed):
            if (path / ".git").exists():  # a clone, where another flow may be running
                locks.enter_context(hold_workspace(path))
        if not arguments.dry_run:
            _remove(_paths(doomed), root / WORK)
    spared = {kind: share for kind, share in found.items() if kind not in doomed}
    foreign = [path.relative_to(root).as_posix() for path in spared[FOREIGN].paths] if FOREIGN in spared else []
    hint = " (--all frees the rest)" if any(kind in DEAR for kind in spared) else ""
    print("\n".join(_describe(doomed, spared, foreign, "would free" if arguments.dry_run else "freed")) + hint)
    return 0


def _paths(shares: "dict[str, Share]") -> list[Path]:
    return [path for share in shares.values() for path in share.paths]


def _remove(paths: list[Path], work: Path) -> None:
    """Remove the paths, and the folders that are empty then."""
    for path in paths:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        with suppress(OSError):  # a folder is not empty
            for folder in path.parents:
                if folder == work.parent:
                    break
                folder.rmdir()


def _describe(doomed: "dict[str, Share]", spared: "dict[str, Share]", foreign: list[str], verb: str) -> list[str]:
    lines = [f"{verb} {share.size / 2**20:9.1f} MiB  {kind}" for kind, share in doomed.items()]
    lines += [f"kept {share.size / 2**20:9.1f} MiB  {kind}" for kind, share in spared.items()]
    if foreign:  # the last kind
        lines[-1] += f": {', '.join(foreign[:3])}{f' and {len(foreign) - 3} more' if len(foreign) > 3 else ''}"
    return [*lines, f"{verb} {sum(share.size for share in doomed.values()) / 2**20:.1f} MiB"]

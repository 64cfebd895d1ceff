"""Where a run keeps its own files (in `work/`, which is safe to delete, but for its lock), and where the report is."""

from pathlib import Path
from typing import Any

from ebmbench.core.errors import UserError
from ebmbench.core.plain import plain

FOLDER = Path("work/flow")
LOCK = Path(".ebmbench/lock")  # not in `work/`: who deletes that during a run must not let a second one in
LOGS = FOLDER / "logs"
OUTCOMES = FOLDER / "outcomes.json"
PULSES = FOLDER / "pulses"

PAGES = ("report.md", "claims.md")
REPORT = "report"  # the stage that reads all cells


def require_pipeline(root: Path) -> None:
    """A folder without `dvc.yaml` is left as it was found."""
    if not (root / "dvc.yaml").exists():
        raise UserError(f"{root}: no dvc.yaml here; this is not the benchmark's folder")


def suite_of(root: Path) -> str:
    """The suite that `params.yaml` names."""
    return str(at(read_mapping(root / "params.yaml"), "benchmark.suite"))


def report_of(root: Path) -> str | None:
    """Where the suite's report is, if it has been written."""
    latest = Path("reports", suite_of(root), "latest")
    pages = [latest / name for name in PAGES if (root / latest / name).exists()]
    return pages[0].as_posix() if pages else None


def read_mapping(path: Path) -> dict[str, Any]:
    """A YAML mapping, or an empty one: whether the file is sound is for DVC and the config to judge."""
    try:
        tree = plain(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return tree if isinstance(tree, dict) else {}


def at(tree: Any, key: str) -> Any:
    """The value at a dotted key, or None."""
    for name in key.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree

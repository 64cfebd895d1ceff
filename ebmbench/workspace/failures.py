"""Why a stage failed, kept in `work/failures/` for the report; the traceback, for whoever wrote the code, beside it."""

import contextlib
import json
from pathlib import Path

from ebmbench.errors import one_line
from ebmbench.workspace.files import write_json
from ebmbench.workspace.layout import FAILURES, file_stem

UNKNOWN = "it ended without a word: stopped, killed, or out of memory"


def failure_path(root: Path, stage: str, suffix: str = ".json") -> Path:
    """The note of a stage, or with ".log" its traceback."""
    return root / FAILURES / f"{file_stem(stage)}{suffix}"


def begin(root: Path, stage: str) -> None:
    """Before a stage starts: what was said of an earlier try is forgotten, and a crash that says nothing is noted."""
    clear(root, stage)
    note(root, stage, UNKNOWN)


def note(root: Path, stage: str, reason: str) -> None:
    """Keep the reason; a full disk must not hide what went wrong before."""
    reason = one_line(" ".join(reason.split()))[:500]
    with contextlib.suppress(OSError):
        write_json(failure_path(root, stage), {"stage": stage, "reason": reason})


def clear(root: Path, stage: str) -> None:
    """The stage has ended well."""
    with contextlib.suppress(OSError):
        for suffix in (".json", ".log"):
            failure_path(root, stage, suffix).unlink(missing_ok=True)


def failure_of(root: Path, stage: str) -> str:
    """The reason that was noted; empty if there is none that can be read."""
    try:
        found = json.loads(failure_path(root, stage).read_text(encoding="utf-8"))["reason"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return " ".join(str(found).split())

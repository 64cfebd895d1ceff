"""Why stages failed: notes that the report shows, in `runs/<suite>/_failures/`.

They are no outputs of DVC, but lie in the folder that the report depends on. So a plain `dvc repro` writes the report
anew after a failure was mended. Tracebacks, for whoever wrote the code, are in `work/failures/`.
"""

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ebmbench.errors import one_line
from ebmbench.workspace.files import write_json
from ebmbench.workspace.layout import RUNS, failure_file, traceback_file

UNKNOWN = "it ended without a word: stopped, killed, or out of memory"


@contextmanager
def noting_failure(root: Path, suite: str, stage: str) -> Iterator[None]:
    """Leave a note if the block fails. It is written before, for a process that is killed can write nothing."""
    forget_failure(root, suite, stage)
    note_failure(root, suite, stage, UNKNOWN)
    try:
        yield
    except Exception as error:
        note_failure(root, suite, stage, f"{type(error).__name__}: {error}")
        raise
    forget_failure(root, suite, stage)


def note_failure(root: Path, suite: str, stage: str, reason: str) -> None:
    """Write the note of a stage."""
    reason = one_line(" ".join(reason.split()))[:500]
    with contextlib.suppress(OSError):  # a full disk must not hide what went wrong before
        write_json(failure_file(root, suite, stage), {"stage": stage, "reason": reason})


def forget_failure(root: Path, suite: str, stage: str) -> None:
    """Remove the note and the traceback of an earlier try. Suites share what is prepared, so its notes go in all."""
    shared = stage.startswith(("prepare@", "features@"))
    suites = [path.name for path in (root / RUNS).glob("*") if path.is_dir()] if shared else [suite]
    with contextlib.suppress(OSError):
        for name in suites:
            failure_file(root, name, stage).unlink(missing_ok=True)
        traceback_file(root, stage).unlink(missing_ok=True)


def failure_of(root: Path, suite: str, stage: str) -> str:
    """The reason in a stage's note; empty if there is none that can be read."""
    try:
        found = json.loads(failure_file(root, suite, stage).read_text(encoding="utf-8"))["reason"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return " ".join(str(found).split())

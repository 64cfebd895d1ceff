"""Entries of `dvc.lock`, as text: a worker sends the entry of what it has made, and the main workspace takes it over.

DVC then takes exactly those outputs from the remote. Its run-cache alone would not do: a worker that was lost while it
pushed leaves an entry there without outputs, and DVC looks at one entry only.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ebmbench.core.files import write_text

_HEAD = "schema: '2.0'\nstages:\n"
_ENTRY = re.compile(r"^  (?P<stage>\S[^:]*):$")  # two spaces: a key below `stages:`, which DVC writes last
_OUTPUT = re.compile(r"^    - path: (?P<path>.+)$")


def entry_of(lock: Path, stage: str) -> str:
    """The lines of one stage; empty if there are none."""
    return "".join(line for name, line in _lines(lock) if name == stage)


def put(lock: Path, entries: Mapping[str, str]) -> None:
    """Let these entries take the place of those that the stages have; an empty one is only taken out."""
    kept = [line for name, line in _lines(lock) if name is not None and name not in entries]
    text = "".join([*kept, *entries.values()])
    if text:
        write_text(lock, _HEAD + text)
    else:
        lock.unlink(missing_ok=True)  # DVC refuses one without stages


def outputs_of(lock: Path, stage: str) -> list[str]:
    """The paths that a stage has written, as its entry tells."""
    _, _, outs = entry_of(lock, stage).partition("    outs:\n")
    return [found["path"].strip("'\"") for line in outs.splitlines() if (found := _OUTPUT.match(line))]


def _lines(lock: Path) -> Iterator[tuple[str | None, str]]:
    """Every line with the stage that it belongs to; None: those before the first."""
    stage = None
    for line in lock.read_text(encoding="utf-8").splitlines(keepends=True) if lock.exists() else []:
        if entry := _ENTRY.match(line):
            stage = entry["stage"]
        yield stage, line

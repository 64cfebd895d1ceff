"""`dvc.lock`: the entries of single stages, and whether they tell the truth.

A worker sends the entry of what it has made, as text, and the main workspace takes it over. DVC then takes exactly
those outputs from the remote. Its run-cache alone would not do: a worker that was lost while it pushed leaves an entry
there without outputs, and DVC looks at one entry only.

DVC hashes a stage's inputs after the stage has ended. A file that is edited in just that moment stands in `dvc.lock`,
and in DVC's run-cache, as what made the outputs. The stage's own record (`ebmbench/workspace/record.py`) knows better:
a stage whose entry differs from its record is made again, whatever DVC says.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ebmbench.config.yaml import plain
from ebmbench.workspace.files import write_text
from ebmbench.workspace.record import hash_of, is_record, read_record

_RUN_CACHE = Path(".dvc/cache/runs")
_HEAD = "schema: '2.0'\nstages:\n"
_ENTRY = re.compile(r"^  (?P<stage>\S[^:]*):$")  # two spaces: a key below `stages:`, which DVC writes last
_OUTPUT = re.compile(r"^    - path: (?P<path>.+)$")

Entry = Mapping[str, Any]
"""What `dvc.lock` says of one stage."""


def entry_of(lock: Path, stage: str) -> str:
    """The lines of one stage; empty if there are none."""
    return "".join(line for name, line in _lines(lock) if name == stage)


def read_entry(lock: Path, stage: str) -> Entry:
    """The same as values; the whole file takes a second to parse."""
    entry = plain(entry_of(lock, stage) or "{}")
    return dict(entry.get(stage) or {}) if isinstance(entry, dict) else {}


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


def untrue(root: Path, entry: Entry) -> list[str]:
    """The inputs of an entry that are not those of the stage's record; none if there is no record to compare with."""
    paths = [str(out["path"]) for out in entry.get("outs", []) if is_record(str(out["path"]))]
    record = read_record(root / paths[0]) if paths else None
    if record is None:
        return []
    files = {str(dep["path"]): dep.get("md5") for dep in entry.get("deps", [])}
    values = {key: value for section in entry.get("params", {}).values() for key, value in section.items()}
    wrong = [path for path, found in files.items() if record["inputs"].get(path, found) != found]
    wrong += [f"params.yaml: {key}" for key, value in values.items() if record["params"].get(key, value) != value]
    # What DVC does not see at all, such as a file of weights, is compared with what is there now.
    unseen = {path: found for path, found in record["inputs"].items() if path not in files}
    return wrong + [path for path, found in unseen.items() if hash_of(root / path) != found]


def why_distrusted(names: list[str]) -> str:
    """For a person."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more} changed unseen by DVC"


def forget(root: Path, entry: Entry) -> None:
    """Remove the entry from DVC's run-cache, which would bring the same outputs back."""
    marks = [str(out["md5"]) for out in entry.get("outs", []) if "md5" in out]
    for file in list((root / _RUN_CACHE).rglob("*")):
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        if any(mark in text for mark in marks[:1]) and _same(plain(text), entry):
            file.unlink(missing_ok=True)
            with suppress(OSError):  # others are left in it
                file.parent.rmdir()  # DVC stumbles over an empty one


def _same(stored: Any, entry: Entry) -> bool:
    alike = isinstance(stored, dict) and all(stored.get(key) == entry.get(key) for key in ("cmd", "params"))
    return alike and _hashes(stored) == _hashes(entry)


def _hashes(entry: Entry) -> list[tuple[str, str]]:
    return sorted((str(one["path"]), str(one.get("md5"))) for kind in ("deps", "outs") for one in entry.get(kind, []))


def _lines(lock: Path) -> Iterator[tuple[str | None, str]]:
    """Every line with the stage that it belongs to; None: those before the first."""
    stage = None
    for line in lock.read_text(encoding="utf-8").splitlines(keepends=True) if lock.exists() else []:
        if entry := _ENTRY.match(line):
            stage = entry["stage"]
        yield stage, line

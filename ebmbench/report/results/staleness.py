"""Find out whether results belong to the present parameters and files, by the records of the stages that made them.

A result is stale if one of its stages left no record, had other parameters than the report is built with, or read other
files than are here now. Such numbers are not shown: they would pass for results of the present parameters.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ebmbench.workspace.failures import failure_of
from ebmbench.workspace.layout import failure_file, record_file
from ebmbench.workspace.record import Record, hash_of, read_record

SHOWN = 3  # of the keys and files that differ
LONGEST = 60  # of a value, in letters
Difference = tuple[str, Any, Any]
Versions = dict[str, str]  # by library


@dataclass(frozen=True)
class Present:
    """The present parameters and files. Each path is hashed once for a report, since folders can be large."""

    root: Path
    params: Mapping[str, Any]
    hashes: dict[str, str | None] = field(default_factory=dict)

    @property
    def suite(self) -> str:
        """The suite that the parameters name."""
        return str(self.params["benchmark"]["suite"])

    def hash(self, path: str) -> str | None:
        """The hash of a file or folder, by its path from the root."""
        if path not in self.hashes:
            self.hashes[path] = hash_of(self.root / path)
        return self.hashes[path]

    def record(self, stage: str) -> Record | None:
        """The record that a stage wrote; None if there is none."""
        return read_record(record_file(self.root, self.suite, stage))

    def failed_since(self, stage: str) -> bool:
        """Whether a stage's failure is newer than its outputs: DVC may have brought these back from its cache."""
        note, record = failure_file(self.root, self.suite, stage), record_file(self.root, self.suite, stage)
        return note.is_file() and not (record.is_file() and record.stat().st_mtime > note.stat().st_mtime)

    def failure(self, *stages: str) -> str:
        """The note of the first of these stages that failed; empty if none left one."""
        noted = ((stage, failure_of(self.root, self.suite, stage)) for stage in stages)
        return next((f"`{stage}`: {reason}" for stage, reason in noted if reason), "")


def explain_staleness(present: Present, stages: Sequence[str]) -> str:
    """Why the results of these stages are stale; empty if all their records fit."""
    records = {stage: present.record(stage) for stage in stages}
    known = [record for record in records.values() if record is not None]
    parts = {
        "made without a record of what from": [f"`{stage}`" for stage, record in records.items() if record is None],
        "made with other parameters": [describe_change(*one) for one in _parameters(present, known)],
        "made from other files than are here now": [f"`{path}`" for path in _files(present, known)],
    }
    return "; ".join(f"{what}: {first_few(found)}" for what, found in parts.items() if found)


def recorded_versions(present: Present, stages: Sequence[str]) -> list[Versions]:
    """The versions that each of these stages ran with."""
    return [record["versions"] for record in map(present.record, stages) if record is not None]


def differences(before: Any, now: Any, key: str = "") -> Iterator[Difference]:
    """The innermost keys whose values differ, `a.b`, with both values; None for one that is missing."""
    if before == now:
        return
    if not (isinstance(before, dict) and isinstance(now, dict)):
        yield key, before, now
        return
    for name in dict.fromkeys([*before, *now]):
        yield from differences(before.get(name), now.get(name), f"{key}.{name}" if key else str(name))


def describe_change(key: str, before: Any, now: Any) -> str:
    """One difference as a sentence."""
    return f"`{key}` was {_value(before)}, is now {_value(now)}"


def first_few(found: Iterable[str]) -> str:
    """The first few, and how many more there are."""
    first = list(dict.fromkeys(found))
    more = len(first) - SHOWN
    return ", ".join(first[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _parameters(present: Present, records: list[Record]) -> Iterator[Difference]:
    for record in records:
        for key, before in record["params"].items():
            now: Any = present.params
            for part in key.split("."):
                now = now.get(part) if isinstance(now, Mapping) else None
            yield from differences(before, _as_recorded(now), key)


def _files(present: Present, records: list[Record]) -> Iterator[str]:
    for record in records:
        yield from (path for path, before in record["inputs"].items() if before != present.hash(path))


def _as_recorded(value: Any) -> Any:
    """A value as JSON gives it back: keys become text."""
    return json.loads(json.dumps(value, default=str))


def _value(value: Any) -> str:
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

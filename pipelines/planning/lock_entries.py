"""Split `dvc.lock` into the entries of its stages, and parse only those that are new.

Parsing YAML is slow: a second for 70 stages. Parsed entries are remembered in a file, by the SHA-256 of their text.
This module is used inside DVC too (`execution/fork_server.py`), so it imports the standard library only.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

HEAD = "schema: '2.0'\nstages:\n"
_ENTRY = re.compile(r"^  (?=\S[^:\n]*:\n)", re.MULTILINE)  # two spaces: a key below `stages:`, which DVC writes last


def split_entries(text: str) -> dict[str, str]:
    """The text of every stage's entry, by the stage's name."""
    entries = [f"  {entry}" for entry in _ENTRY.split(text)[1:]]
    return {entry[2 : entry.index(":\n")]: entry for entry in entries}


def check_form(text: str) -> None:
    """Raise a ValueError if a `dvc.lock` is not as DVC writes it: entries could be lost by writing others."""
    names = re.findall(r"^  (\S.*):$", text.removeprefix(HEAD), re.MULTILINE)
    if "\N{REPLACEMENT CHARACTER}" in text:
        raise ValueError("it is no UTF-8")
    if text and not text.startswith(HEAD):
        raise ValueError("it does not begin as DVC begins it")
    if odd := next((line for line in text.removeprefix(HEAD).splitlines() if line and not line.startswith("  ")), None):
        raise ValueError(f"found the line {odd[:80]!r}")
    if len(set(names)) != len(names) or names != list(split_entries(text)):
        raise ValueError("a stage stands there twice, or in another form than DVC's")


def parse_entries(text: str, memory: Path, parse: Callable[[str], Any]) -> dict[str, Any] | None:
    """All stages of a `dvc.lock` as values, by name; None if it is not as DVC writes it.

    `parse` turns the text of an entry into a mapping of one stage. `memory` is the file with the entries of last time.
    """
    if not text.startswith(HEAD):
        return None
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    stages: dict[str, Any] = {}
    used: dict[str, Any] = {}
    for name, entry in split_entries(text).items():
        key = hashlib.sha256(entry.encode()).hexdigest()
        value = known[key] if key in known else parse(entry)[name]
        stages[name] = value
        if key in known or _survives_json(value):
            used[key] = value
    if used != known:
        _write(memory, json.dumps(used))
    return stages


def _survives_json(value: Any) -> bool:
    """Whether JSON gives back the same value; keys that are numbers, or dates, would change."""
    with contextlib.suppress(TypeError, ValueError):
        return bool(json.loads(json.dumps(value)) == value)
    return False


def _write(file: Path, text: str) -> None:
    """Write a file in one step; what fails here is only slow. Its folder is not made: DVC would take it for its own."""
    with contextlib.suppress(OSError):
        part = file.with_name(f".{file.name}.{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(file)

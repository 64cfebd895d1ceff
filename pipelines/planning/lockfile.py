"""The entries of single stages in `dvc.lock`, as text and as values, and whether they name the right inputs.

Text: a worker sends the entry of the stage that it has run, and the main workspace puts it into its own `dvc.lock`.
DVC then takes exactly those outputs from the remote. The run-cache alone is not enough: a worker that died while it
pushed leaves an entry there without outputs.

Values: DVC hashes a stage's inputs after the stage has ended. If a file is edited in that moment, `dvc.lock` and the
run-cache name the edited file as the input. The stage's own record (`ebmbench/workspace/record.py`) has the hash of
what it read, and a stage whose entry differs from its record runs again.
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

Entry = Mapping[str, Any]  # the value of one stage in `dvc.lock`


def entry_text(lock: Path, stage: str) -> str:
    """The lines of one stage; empty if there are none."""
    return "".join(line for name, line in _lines(lock) if name == stage)


def read_entry(lock: Path, stage: str) -> Entry:
    """The entry of one stage as values, without parsing the whole file, which takes a second."""
    entry = plain(entry_text(lock, stage) or "{}")
    return dict(entry.get(stage) or {}) if isinstance(entry, dict) else {}


def write_entries(lock: Path, entries: Mapping[str, str]) -> None:
    """Replace or add the entries of these stages; an empty text removes an entry."""
    others = [line for name, line in _lines(lock) if name is not None and name not in entries]
    text = "".join([*others, *entries.values()])
    if text:
        write_text(lock, _HEAD + text)
    else:
        lock.unlink(missing_ok=True)  # DVC refuses one without stages


def output_paths(lock: Path, stage: str) -> list[str]:
    """The output paths in a stage's entry."""
    _, _, outs = entry_text(lock, stage).partition("    outs:\n")
    return [found["path"].strip("'\"") for line in outs.splitlines() if (found := _OUTPUT.match(line))]


def mismatched_inputs(root: Path, entry: Entry) -> list[str]:
    """The inputs that differ between an entry and the stage's record; none if there is no record."""
    paths = [str(out["path"]) for out in entry.get("outs", []) if is_record(str(out["path"]))]
    record = read_record(root / paths[0]) if paths else None
    if record is None:
        return []
    files = {str(dep["path"]): dep.get("md5") for dep in entry.get("deps", [])}
    values = {key: value for section in entry.get("params", {}).values() for key, value in section.items()}
    wrong = [path for path, found in files.items() if record["inputs"].get(path, found) != found]
    wrong += [f"params.yaml: {key}" for key, value in values.items() if record["params"].get(key, value) != value]
    # Inputs that are no dependency in DVC, such as a file of weights, are compared with the files as they are now.
    unseen = {path: found for path, found in record["inputs"].items() if path not in files}
    return wrong + [path for path, found in unseen.items() if hash_of(root / path) != found]


def describe_mismatch(inputs: list[str]) -> str:
    """One line about mismatched inputs."""
    more = f" and {len(inputs) - 1} more" if len(inputs) > 1 else ""
    return f"{inputs[0]}{more} changed unseen by DVC"


def remove_from_run_cache(root: Path, entry: Entry) -> None:
    """Remove an entry from DVC's run-cache, which would restore the same outputs."""
    hashes = [str(out["md5"]) for out in entry.get("outs", []) if "md5" in out]
    for file in list((root / _RUN_CACHE).rglob("*")) if hashes else []:
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        if hashes[0] in text and _is_same(plain(text), entry):
            file.unlink(missing_ok=True)
            with suppress(OSError):  # not empty
                file.parent.rmdir()  # DVC fails on an empty folder


def _is_same(stored: Any, entry: Entry) -> bool:
    alike = isinstance(stored, dict) and all(stored.get(key) == entry.get(key) for key in ("cmd", "params"))
    return alike and _hashes(stored) == _hashes(entry)


def _hashes(entry: Entry) -> list[tuple[str, str]]:
    return sorted((str(one["path"]), str(one.get("md5"))) for kind in ("deps", "outs") for one in entry.get(kind, []))


def _lines(lock: Path) -> Iterator[tuple[str | None, str]]:
    """Every line with its stage; None before the first stage."""
    stage = None
    for line in lock.read_text(encoding="utf-8").splitlines(keepends=True) if lock.exists() else []:
        if entry := _ENTRY.match(line):
            stage = entry["stage"]
        yield stage, line

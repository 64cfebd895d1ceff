"""The entries of single stages in `dvc.lock`, as text and as values, and whether they name the right inputs.

Text: a worker sends the entry of the stage that it has run, and the main workspace puts it into its own `dvc.lock`.
DVC then takes exactly those outputs from the remote. The run-cache alone is not enough: a worker that died while it
pushed leaves an entry there without outputs.

Values: DVC hashes a stage's inputs after the stage has ended. If a file is edited in that moment, `dvc.lock` and the
run-cache name the edited file as the input. The stage's own record (`ebmbench/workspace/record.py`) has the hash of
what it read, and a stage whose entry differs from its record runs again.

DVC itself reads and writes all entries for every stage. That takes seconds in a large suite, and no two stages do it at
once. `LockBuffer` gives a stage its own entry alone, and writes the new ones into `dvc.lock` together.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from ebmbench.config.yaml import plain, read_mapping
from ebmbench.errors import UserError
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import DVC_LOCK, LOCK_ENTRIES, LOCK_MEMORY, file_stem
from ebmbench.workspace.record import hash_of, is_record, read_record
from pipelines.execution import guard
from pipelines.planning.lock_entries import HEAD, check_form, parse_entries, split_entries

_RUN_CACHE = Path(".dvc/cache/runs")
_WRITE_SECONDS = 5.0  # after which new entries are written into `dvc.lock`
_OUTPUT = re.compile(r"^    - path: (?P<path>.+)$")

Entry = Mapping[str, Any]  # the value of one stage in `dvc.lock`


def entry_text(lock: Path, stage: str) -> str:
    """The lines of one stage; empty if there are none."""
    return entry_texts(lock).get(stage, "")


def read_entry(lock: Path, stage: str) -> Entry:
    """The entry of one stage as values, without parsing the whole file, which takes a second."""
    return parse_entry(entry_text(lock, stage), stage)


def parse_entry(text: str, stage: str) -> Entry:
    """The entry of one stage as values."""
    entry = plain(text or "{}")
    return dict(entry.get(stage) or {}) if isinstance(entry, dict) else {}


def entry_texts(lock: Path) -> dict[str, str]:
    """The lines of every stage."""
    return split_entries(_read(lock))


def read_entries(root: Path) -> dict[str, Any]:
    """All stages of `dvc.lock` as values."""
    lock = root / DVC_LOCK
    with suppress(Exception):  # below is said what is wrong with it
        if (entries := parse_entries(_read(lock), root / LOCK_MEMORY, plain)) is not None:
            return entries
    return dict(read_mapping(lock).get("stages", {}))


def write_entries(lock: Path, entries: Mapping[str, str]) -> None:
    """Replace or add the entries of these stages, as DVC does; an empty text removes an entry."""
    try:
        check_form(_read(lock))
    except ValueError as error:
        hint = f"mend it, or take it from Git again (`git checkout {lock.name}`)"
        raise UserError(f"{lock.name}: not as DVC writes it: {error}; {hint}") from None
    text = "".join({**entry_texts(lock), **entries}.values())
    if text:
        write_text(lock, HEAD + text)
    else:
        lock.unlink(missing_ok=True)  # DVC refuses one without stages


def _read(lock: Path) -> str:
    """The text of a `dvc.lock`, empty if there is none. What is no UTF-8 is marked, and DVC complains about it."""
    return lock.read_text(encoding="utf-8", errors="replace") if lock.exists() else ""


class LockBuffer:
    """The entries of `dvc.lock` while stages run. New ones are files in `work/`, and soon written into `dvc.lock`.

    What a killed run has left there is written by the next. Until then `dvc repro` finds such a stage in its run-cache.
    """

    def __init__(self, root: Path) -> None:
        self.lock, self.folder = root / DVC_LOCK, root / LOCK_ENTRIES
        self._new: dict[str, str] = {}
        self._texts = entry_texts(self.lock)
        self._timer: Timer | None = None
        self._busy = Lock()

    def recover(self) -> None:
        """Take what a killed run has left, unless `dvc.lock` is newer."""
        last = self.lock.stat().st_mtime_ns if self.lock.exists() else 0
        for file in sorted(self.folder.glob("*.yaml")):
            if file.stat().st_mtime_ns > last:
                self._new |= entry_texts(file)
            file.unlink()
        self.write()

    def file(self, stage: str) -> Path:
        """Where the new entry of a stage goes."""
        return self.folder / f"{file_stem(stage)}.yaml"

    def text(self, stage: str) -> str:
        """The lines of a stage's entry; empty if there are none."""
        return self._texts.get(stage, "")

    def read(self, stage: str) -> Entry:
        """The entry of a stage as values."""
        return parse_entry(self.text(stage), stage)

    def take(self, stage: str) -> None:
        """Take the new entry of a stage that has ended, if it has one; it is written within seconds."""
        with suppress(FileNotFoundError):
            text = self.file(stage).read_text(encoding="utf-8")
            with self._busy:
                self.file(stage).touch()  # newer than `dvc.lock`, which others may have written since
                self._texts[stage] = self._new[stage] = text
                self._set_timer()

    def write(self) -> None:
        """Write all new entries into `dvc.lock` now."""
        with self._busy:
            self._write(guard.PATIENCE_SECONDS)

    def _set_timer(self) -> None:
        if self._timer is None:
            self._timer = Timer(_WRITE_SECONDS, self._write_soon)
            self._timer.daemon = True
            self._timer.start()

    def _write_soon(self) -> None:
        """Write, or try again later if a `dvc` of the user's is at work; what else is wrong is said at the end."""
        with self._busy:
            with suppress(UserError, OSError):
                self._write(0.0)
            if self._new:
                self._set_timer()

    def _write(self, patience: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._new:
            return
        with guard.hold_dvc_lock(str(self.lock.parent), patience) as held:
            if not held and not patience:
                return
            write_entries(self.lock, self._new)
        for stage in self._new:
            self.file(stage).unlink(missing_ok=True)
        self._new.clear()


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

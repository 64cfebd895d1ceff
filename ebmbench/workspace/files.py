"""Files and folders that are either whole or not there: written beside their place, flushed to disk, then renamed."""

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ebmbench.errors import UserError


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, read in pieces; empty if there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; rename it to `path` only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write JSON with sorted keys; NaN and infinity are refused, they are not JSON."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n")


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
    """Write a table, of lists or of mappings; floats read back as the same numbers, None and what is missing as ""."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row.get(key) for key in columns] if isinstance(row, Mapping) else row for row in rows)


def read_json(path: Path) -> Any:
    """Read a JSON file; one that was cut short or is something else is named in one line."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: damaged, no whole JSON ({' '.join(str(error).split())[:200]})") from error


def replace_folder(source: Path, target: Path) -> None:
    """Put the finished folder `source` where `target` is or was."""
    for file in (source, *source.rglob("*")):
        if not file.is_symlink():  # which may lead nowhere
            flush(file)
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.rename(old)
    source.rename(target)
    flush(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder whole. Always a copy: a hard link would let a later write damage DVC's cache."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, part, copy_function=shutil.copyfile)
    replace_folder(part, target)


def sweep_parts(folder: Path) -> None:
    """Remove what killed processes left of files, and of folders `part-<pid>`, that they were writing here."""
    for part in [*folder.glob(".*.part"), *folder.glob("part-*")]:
        pid = part.name.removesuffix(".part").replace("-", ".").rpartition(".")[2]
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk and not only on their way there."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


class _Writer:
    """Something that can only `write`.

    `numpy.save` hands a real file to C's `fwrite` and does not notice a full disk. Through this it writes the same
    bytes, and every error is raised.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write


def save_array(path: Path, rows: np.ndarray) -> None:
    """Write an .npy whole or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(_Writer(file), rows, allow_pickle=False)


Arrays = dict[str, np.ndarray]


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Write an .npz whole; it is the same bytes for the same arrays."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_arrays(path: Path) -> Arrays:
    """Read an .npz."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}

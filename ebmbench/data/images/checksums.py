"""Is a file the published one? Compare MD5 sums, of the file or, if it is packed by gzip, of what is in it.

MD5 because that is what the publishers and torchvision give; it finds damage, it does not stop forgers.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

CHUNK = 1 << 20
LARGEST = 1 << 30  # bytes that are unpacked of any file: the largest of the published ones holds 47 MB


def md5(file: BinaryIO | gzip.GzipFile) -> str:
    """The sum of all that can be read."""
    whole = hashlib.md5(usedforsecurity=False)
    for chunk in chunks(file):
        whole.update(chunk)
    return whole.hexdigest()


def chunks(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """All that can be read, piece by piece; what is packed may be a thousand times as long, so not without end."""
    read = 0
    while chunk := file.read(CHUNK):
        read += len(chunk)
        if read > LARGEST and isinstance(file, gzip.GzipFile):
            raise OSError(f"it unpacks to more than {LARGEST} bytes")
        yield chunk


def complaint(path: Path, expected: tuple[str, ...]) -> str | None:
    """What is wrong with a file, as one line that names it, or None.

    A file may be packed anew (Debian does so): other bytes, the same content.
    """
    if not expected:
        return f"{path}: found no published MD5 sum to check it by, allowed: the archive that it comes from"
    with path.open("rb") as file:
        found = md5(file)
    if found in expected:
        return None
    if path.suffix == ".gz" and _content(path) in expected:
        return None
    return f"{path}: damaged or another file: found MD5 {found}, expected {' or '.join(expected)}"


def _content(path: Path) -> str | None:
    try:
        with gzip.open(path, "rb") as file:
            return md5(file)
    except (OSError, EOFError, zlib.error):
        return None

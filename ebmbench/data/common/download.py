"""Download files through torchvision, whole or not at all.

torchvision writes in place and later checks only that a file exists, so a killed download leaves a short file that
looks like data. Here files are written into a folder beside and moved to their place when all sums are right.
"""

import os
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ebmbench.core.torch_compat import torchvision

TIMEOUT = 5.0  # seconds without an answer, so that a machine without network fails soon


class DownloadError(Exception):
    """One line: which file did not come, and why."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on the network: at any of some addresses, or on Google Drive under an id."""

    name: str
    md5: str
    urls: Sequence[str] = ()
    drive: str = ""


def download(remotes: Sequence[RemoteFile], place: Path) -> None:
    """Bring all files into the folder `place`, or none."""
    beside = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with _timeout():
            for remote in remotes:
                _download(remote, beside)
        place.mkdir(parents=True, exist_ok=True)
        for remote in remotes:
            (beside / remote.name).replace(place / remote.name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _download(remote: RemoteFile, folder: Path) -> None:
    utils = torchvision().datasets.utils
    attempts = [partial(utils.download_url, url) for url in remote.urls]
    if remote.drive:
        attempts.append(partial(utils.download_file_from_google_drive, remote.drive))
    reason = "no address"
    for attempt in attempts:
        try:
            attempt(folder, remote.name, remote.md5)
            return
        # torchvision raises RuntimeError for a wrong sum, urllib and sockets kinds of OSError, gdown its own.
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
    raise DownloadError(f"{remote.name}: {reason[:200]}")


@contextmanager
def _timeout() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def refuse(remotes: Sequence[RemoteFile], folder: Path) -> None:
    """In place of `download`, where the files would be nice to have."""
    raise DownloadError("nothing is downloaded for a comparison alone")

"""Download files through torchvision, whole or not at all.

torchvision writes and unpacks in place and later checks only that a file exists, so a kill leaves a short file that
looks like data. Here everything goes to a folder beside, and a file is moved to its place when its sum is right.
"""

import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ebmbench.core.torch_compat import torchvision

PATIENCE = 5.0  # seconds without an answer; a machine without network is told so soon


class Failed(Exception):
    """One line: which file did not come, and why."""


@dataclass(frozen=True)
class Remote:
    """A file that the network has: at any of some addresses, or on Google Drive under an id."""

    name: str
    md5: str
    urls: Sequence[str] = ()
    drive: str = ""


Fetch = Callable[[], Sequence[Remote]]
"""Gives the files to download; a function, so that torchvision is imported only if needed."""


def download(fetch: Fetch, place: Path) -> None:
    """Bring all files into `place`. A file that is there whole is left alone."""
    beside = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with _patience():
            for remote in fetch():
                _one(remote, beside)
        place.mkdir(parents=True, exist_ok=True)
        for remote in fetch():
            (beside / remote.name).replace(place / remote.name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _one(remote: Remote, folder: Path) -> None:
    utils = torchvision().datasets.utils
    tries = [partial(utils.download_url, url) for url in remote.urls]
    if remote.drive:
        tries.append(partial(utils.download_file_from_google_drive, remote.drive))
    reason = "no address"
    for attempt in tries:
        try:
            attempt(folder, remote.name, remote.md5)
            return
        # torchvision raises RuntimeError for a wrong sum, urllib and sockets kinds of OSError, gdown its own.
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
    raise Failed(f"{remote.name}: {reason[:200]}")


@contextmanager
def _patience() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)

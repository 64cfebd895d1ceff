"""Run stages in forks of a process that has DVC and torch loaded (`fork_server.py`), which saves seconds for each.

Each stage has a log of its own, a guard, and a process group, as if it had been started by itself. Where this is not
possible (not on Linux, another version of DVC inside), or if `EBMBENCH_FORK=0` is set, stages start the slow way.
"""

import contextlib
import json
import os
import secrets
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from threading import Event, Lock

from ebmbench.errors import DEBUG
from ebmbench.workspace.layout import LOCK_MEMORY, REPORT
from pipelines.execution import fork_server
from pipelines.execution.dvc import call_dvc, environment
from pipelines.planning.lockfile import LockBuffer

FORK = "EBMBENCH_FORK"
_POLL_SECONDS = 0.1
_KILLED = 137
_THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}


class WarmDvc:
    """The process to fork from, and the entries of `dvc.lock` that its stages write."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = Lock()
        self._ready: bool | None = None if sys.platform == "linux" and os.environ.get(FORK) != "0" else False
        self._channel: socket.socket | None = None
        if self._ready is None:
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = self._start(theirs.fileno())

    def _start(self, channel: int) -> subprocess.Popen[bytes]:
        # The token tells this process's forks from those of others in DVC's table of locks (`dvc.py`).
        command = [sys.executable, "-P", fork_server.__file__, str(channel), secrets.token_hex(8)]
        return subprocess.Popen(
            command,
            cwd=self.root,
            env={**environment(), **_THREADS},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if os.environ.get(DEBUG) == "1" else subprocess.DEVNULL,
            pass_fds=(channel,),
            start_new_session=True,
        )

    def is_ready(self) -> bool:
        """Wait until DVC is loaded; False if stages cannot be forked."""
        with self._lock:
            if self._ready is None and self._channel is not None:
                with contextlib.suppress(OSError):
                    self._ready = self._channel.recv(fork_server.MESSAGE_BYTES) == fork_server.READY
            return bool(self._ready)

    @cached_property
    def entries(self) -> LockBuffer:
        """The entries of `dvc.lock`, old and new."""
        return LockBuffer(self.root)

    def load_libraries(self) -> None:
        """Load what stages import, torch above all. DVC alone is enough to plan."""
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.send(fork_server.LOAD)

    def call(self, root: Path, words: tuple[str, ...]) -> tuple[int, str, str]:
        """Run `dvc <words>`, which changes nothing, and return its exit code, output and errors."""
        if not self.is_ready():
            return call_dvc(root, words)
        request: dict[str, object] = {"words": words, "variables": {}, "memory": str(self.root / LOCK_MEMORY)}
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            try:
                with self._fork(request, output.fileno(), errors.fileno()) as (result, _):
                    code = _read_all(result)
            except ConnectionError:  # it was killed
                return call_dvc(root, words)
            for file in (output, errors):
                file.seek(0)
            texts = [file.read().decode("utf-8", errors="replace") for file in (output, errors)]
        return int(code) if code else _KILLED, texts[0], texts[1]

    def run(self, stage: str, words: list[str], log: Path, stop: Event, variables: Mapping[str, str]) -> int | None:
        """Run `dvc WORDS`, which concerns one stage, and return its exit code; None if `stop` was set before."""
        if stage == REPORT:
            self.entries.write()  # it reads `dvc.lock`
        self.entries.file(stage).unlink(missing_ok=True)  # of a run that was killed
        request: dict[str, object] = {"words": words, "variables": dict(variables)}
        request |= {"entry": self.entries.text(stage), "entry_file": str(self.entries.file(stage))}
        log.parent.mkdir(parents=True, exist_ok=True)  # `work/` may have been deleted since
        with log.open("ab") as file, self._fork(request, file.fileno(), file.fileno()) as (result, pipe):
            while not select.select([result], [], [], _POLL_SECONDS)[0]:
                if stop.is_set():
                    os.close(pipe.pop())
                    _read_all(result)
                    return None
            code = _read_all(result)
        self.entries.take(stage)
        return int(code) if code else _KILLED

    @contextlib.contextmanager
    def _fork(self, request: Mapping[str, object], output: int, errors: int) -> Iterator[tuple[int, list[int]]]:
        """Send a request; yields where the exit code can be read, and the pipe whose end stops everything."""
        theirs, pipe = os.pipe()
        result, answer = os.pipe()
        ours = [pipe]
        try:
            message = json.dumps(request).encode()
            if self._channel is None or len(message) > fork_server.MESSAGE_BYTES:
                raise ConnectionError("no process to fork from, or too long a message for it")
            socket.send_fds(self._channel, [message], [theirs, output, errors, answer])
            os.close(answer)
            answer = -1
            yield result, ours
        finally:
            for end in (theirs, result, answer, *ours):
                if end >= 0:
                    os.close(end)

    def close(self) -> None:
        """End the process, and write what is left of the entries."""
        if self._channel is not None:
            self._channel.close()
            self._process.kill()  # it may be busy loading libraries; its forks have ended, or have guards
            self._process.wait()
        if "entries" in vars(self):
            self.entries.write()


def _read_all(file: int) -> bytes:
    """Everything up to the end, which comes when no process has the other end any more."""
    found = b""
    while part := os.read(file, 64):
        found += part
    return found


@contextlib.contextmanager
def open_warm_dvc(root: Path) -> Iterator[WarmDvc]:
    """Start loading DVC; at the end of the block, new entries are in `dvc.lock`."""
    warm = WarmDvc(root)
    try:
        yield warm
    finally:
        warm.close()

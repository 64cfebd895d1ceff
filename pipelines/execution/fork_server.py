"""Start DVC and its stages in milliseconds: fork them from a process that has their libraries loaded.

Importing DVC and torch takes seconds, and a suite has many short stages. This process imports the libraries once, and
none of the project's own code. For each request it forks a guard (`guard.py`), the guard forks DVC, and DVC's command
`python -m ebmbench.stages…` becomes one more fork, which imports the project's code as a new process would. That fork
is made before DVC does anything: threads and locks of DVC must not be inherited.

DVC reads and writes the whole of `dvc.lock` for every stage, which takes seconds in a large suite. Here it gets the
entry of its one stage, and writes the new entry into a file of its own. `planning/lockfile.py` puts these together.

Requests come through a socket. When the other end is closed, this process ends; running stages have pipes of their own.
It is started as `python -P fork_server.py SOCKET TOKEN`, and imports only the standard library at first.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import random
import runpy
import select
import shlex
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # whatever else is installed

from pipelines.execution import dvc_hooks
from pipelines.execution.guard import guard

if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())  # as for `python -m ebmbench.stages…`

READY, LOAD = b"ready", b"load"  # the first answer; the request to load what stages need
MESSAGE_BYTES = 200_000  # a request; Linux allows 212 992
_DVC = (
    *("dvc.cli", "dvc.repo", "dvc.scm", "dvc.dvcfile", "dvc.stage.run", "dvc.stage.cache", "dvc.repo.reproduce"),
    *("dvc.repo.index", "dvc.repo.stage", "dvc.repo.graph", "dvc.repo.metrics", "dvc.repo.params", "dvc.repo.plots"),
    *("dvc.lock", "dvc.rwlock", "dvc.cachemgr", "dvc.data_cloud", "dvc.utils.strictyaml", "dvc.parsing.interpolate"),
    *("dvc_data.hashfile.db.local", "dvc_data.hashfile.status", "dulwich.index", "dulwich.ignore", "dulwich.worktree"),
    *("networkx", "pydot", "pyparsing", "rich", "ruamel.yaml", "fsspec.implementations.memory"),
)
# What stages import; whatever is missing here they import themselves. The second are loaded while there is time.
_LIBRARIES = ("numpy", "torch", "pydantic.fields", "pydantic.types", "pathspec", "filelock", "safetensors.torch")
_RARE = ("scipy.fft", "scipy.special", "scipy.stats", "matplotlib.pyplot")  # not pandas, which starts a thread
_SHELL = set("$`|&;<>(){}[]*?~\\\n#!'\"")
_VERSIONS: dict[str, str | None] = {}  # when they were loaded
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15  # linux/prctl.h


def serve(channel: socket.socket) -> None:
    """Import DVC, say that it is ready, and answer requests until the other end of the channel is closed."""
    _import(*_DVC)
    importlib.import_module("dvc.cli.parser").get_main_parser()  # imports all commands
    channel.send(dvc_hooks.find_obstacle().encode() or READY)
    waiting: list[str] = []
    while True:
        while waiting and not select.select([channel], [], [], 0)[0]:
            _import(waiting.pop(0))
        message, files, _, _ = socket.recv_fds(channel, MESSAGE_BYTES, 4)
        for file in files:
            os.set_inheritable(file, False)
        if not message:
            return
        if message == LOAD:
            _VERSIONS.update(_versions())
            _import(*_LIBRARIES)
            waiting += _RARE
            continue
        _reap()
        if os.fork() == 0:
            channel.close()
            _guard_dvc(json.loads(message), *files)
        for file in files:
            os.close(file)


def _import(*names: str) -> None:
    """Import libraries; one that fails is left to the stage, which then says why."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.freeze()  # the forks share this memory as long as nobody writes to it


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _guard_dvc(request: dict[str, Any], pipe: int, output: int, errors: int, result: int) -> NoReturn:
    """Be the guard of one `dvc` command, and write its exit code to `result`."""
    code = 1
    try:
        os.setsid()  # Ctrl-C reaches the flow alone
        for file, place in ((output, 1), (errors, 2)):
            os.dup2(file, place)
            os.close(file)
        code = guard(pipe, lambda: _fork(lambda: _run_dvc(request, pipe, result), new_group=True))
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):  # nobody waits any more
            os.write(result, str(code).encode())
        os._exit(code)


def _fork(work: Callable[[], int], new_group: bool = False, finalize: bool = False) -> int:
    """Do the work in a child that dies with this process; returns the child's number.

    With `finalize` it ends as Python does: it waits for threads, calls what is registered for the exit, flushes files.
    It does not free its objects, which would first copy all the memory that it shares with this process.
    """
    child = os.fork()
    if child:
        with contextlib.suppress(OSError):  # it has done so itself, or has ended
            os.setpgid(child, child) if new_group else None
        return child
    code = 1
    try:
        if new_group:
            os.setpgid(0, 0)
        _die_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = work()
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        traceback.print_exc()
    finally:
        if finalize:
            _finalize()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _finalize() -> None:
    with contextlib.suppress(Exception):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    for one in gc.get_objects():  # without those that were frozen before the fork
        if isinstance(one, io.IOBase):
            with contextlib.suppress(Exception):
                one.flush()


def _versions() -> dict[str, str | None]:
    """The installed versions of libraries that make numbers. A newer one must not be recorded with an older loaded."""
    found: dict[str, str | None] = {}
    for name in ("torch", "numpy", "scipy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died in between
        os._exit(1)


def _run_dvc(request: dict[str, Any], *ends: int) -> int:
    """Run `dvc` with what is replaced inside of it; the ends of pipes belong to the guard alone."""
    from dvc.cli import main

    for end in ends:
        os.close(end)
    os.environ.update(request["variables"])
    dvc_hooks.ask_often_for_locks()
    if "entry" in request:
        dvc_hooks.run_commands(_StageProcess().run)
        dvc_hooks.use_entry(request["entry"], Path(request["entry_file"]))
    else:
        dvc_hooks.read_files_once(Path(request["memory"]))
    return int(main(request["words"]))


class _StageProcess:
    """A child that waits for the command of a stage, and then runs it."""

    def __init__(self) -> None:
        theirs, ours = socket.socketpair()
        self.ours: socket.socket | None = ours
        self.pid = _fork(lambda: self._wait(theirs), finalize=True)
        theirs.close()

    def _wait(self, channel: socket.socket) -> int:
        assert self.ours is not None
        self.ours.close()
        with channel.makefile("rb") as file:
            text = file.read()
        return _run_stage(**json.loads(text)) if text else 0

    def run(self, cmd: str, options: dict[str, Any]) -> bool:
        """Run a stage's command and raise DVC's error if it fails; False if it is no such command."""
        from dvc.stage.exceptions import StageCmdFailedError

        words = [] if _SHELL & set(cmd) else shlex.split(cmd)
        ours = words[:2] == ["python", "-m"] and "".join(words[2:3]).startswith("ebmbench.stages.")
        if self.ours is None or not ours or (_VERSIONS and _versions() != _VERSIONS):
            return False
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the stage gets it too, and decides
        try:
            with self.ours as channel:
                self.ours = None
                order = {"words": words[2:], "variables": dict(options["env"]), "folder": str(options["cwd"])}
                channel.sendall(json.dumps(order).encode())
            code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        finally:
            signal.signal(signal.SIGINT, before)
        if code:
            raise StageCmdFailedError(cmd, code)
        return True


def _run_stage(words: list[str], variables: dict[str, str], folder: str) -> int:
    """What `python -m WORDS` does in a new process."""
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    ctypes.CDLL(None).prctl(_PR_SET_NAME, variables.get("DVC_STAGE", "").encode()[:15])  # for `top` and `ps`
    random.seed()  # not what others got from the same process
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()
    sys.argv, sys.orig_argv = list(words), [sys.executable, "-m", *words]
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as end:
        serve(end)

"""Prefect's settings, and a local Prefect server if the user has none.

Prefect would start a temporary server itself, but that one outlives a killed flow and dies of the same Ctrl-C that the
flow wants to record. This is the same server under `guard.py`. It runs until the process ends, because Prefect sends
its last events then. Prefect is imported after its environment is set.
"""

import atexit
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from ebmbench.errors import UserError
from ebmbench.workspace.layout import LOGS
from pipelines.execution.process import start_guarded

_PATIENCE = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"
Settings = Mapping[str, str]
Start = Callable[[Path, ExitStack], str]
_QUIET = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",  # our own lines say what failed
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    _PATIENCE: "120",  # takes 10-22 s on an idle machine
    "PREFECT_CLIENT_MAX_RETRIES": "3",  # a dead server is given up after 14 s; Prefect's 5 retries take a minute
    "DO_NOT_TRACK": "1",
}
# The server writes to a log of its own, also why it could not start.
_SERVER_LEVELS = ("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "PREFECT_SERVER_LOGGING_LEVEL")
_OTHER_VERSION = "Can't locate revision"
_HINT = "; another version of Prefect wrote its database: use that one, or set PREFECT_HOME to a new folder"
# What Prefect sets for its own temporary server: no user interface, no services for schedules.
_EPHEMERAL = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
_APP = ["uvicorn", "--factory", "prefect.server.api.server:create_app", "--log-level", "error"]
LOOPBACK = "127.0.0.1"


def prepare_prefect(root: Path, start: Start | None = None, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Set the environment, import Prefect, and start a server unless the user has named one.

    `meanwhile` is called while the server is starting, or now.
    """
    set_environment()
    at_exit = ExitStack()
    atexit.register(at_exit.close)  # before Prefect's own, so that it is called after them
    from prefect.context import refresh_global_settings_context
    from prefect.settings import PREFECT_API_URL

    if PREFECT_API_URL.value():
        meanwhile()
        return
    url = start(root, at_exit) if start else start_server(root, at_exit, meanwhile=meanwhile)
    os.environ["PREFECT_API_URL"] = url
    refresh_global_settings_context()


def set_environment() -> None:
    """Set Prefect's environment variables, which it reads when it is imported."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    for name in ("no_proxy", "NO_PROXY"):  # no proxy between the flow and its own machine
        hosts = [host for host in os.environ.get(name, "").split(",") if host not in ("", LOOPBACK)]
        os.environ[name] = ",".join([*hosts, LOOPBACK])


def start_server(
    root: Path,
    owner: ExitStack,
    port: int | None = None,
    settings: Settings = _EPHEMERAL,
    meanwhile: Callable[[], object] = lambda: None,
) -> str:
    """Start a Prefect server on the loopback interface and return the address of its API; `owner` ends it."""
    log = root / LOGS / "prefect-server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    before = log.stat().st_size if log.exists() else 0
    port = port or _free_port()
    command = [sys.executable, "-m", *_APP, "--host", LOOPBACK, "--port", str(port)]
    process = owner.enter_context(start_guarded(command, log, root, {**os.environ, **_log_levels(), **settings}))
    meanwhile()
    _wait_until_healthy(process, port, log, before)
    return f"http://{LOOPBACK}:{port}/api"


def _log_levels() -> dict[str, str]:
    """Log errors at least, unless the user has set a level."""
    return {name: "ERROR" for name in _SERVER_LEVELS if os.environ.get(name, _QUIET[name]) == _QUIET[name]}


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path, before: int = 0) -> None:
    patience = float(os.environ.get(_PATIENCE, _QUIET[_PATIENCE]))
    start = time.monotonic()
    while not _healthy(port):
        seconds, ending = time.monotonic() - start, None
        if process.poll() is not None:
            ending = f"ended after {seconds:.0f} s with exit code {process.returncode}"
        elif seconds > patience:
            ending = f"did not answer within {patience:.0f} s ({_PATIENCE} sets how long it may take)"
        if ending:
            raise UserError(f"the local Prefect server {ending}: {_cause(log, before)} (log: {log})")
        time.sleep(0.1)


def _cause(log: Path, before: int) -> str:
    """The last error in the server's log since the offset `before`; an exception begins with its type."""
    text = log.read_bytes()[before:].decode(errors="replace") if log.exists() else ""
    lines = [line for line in text.splitlines() if line.strip() and "Application startup failed" not in line]
    errors = [line for line in lines if re.match(r"[A-Za-z_][\w.]*: ", line)] or lines
    said = errors[-1].rpartition(" | ")[2].strip() if errors else "it said nothing"
    return said + _HINT if _OTHER_VERSION in said else said


def _healthy(port: int) -> bool:
    connection = HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])

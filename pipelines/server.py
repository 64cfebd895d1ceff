"""Prefect made ready: quiet, offline, and with an API to talk to.

Without a Prefect API of the user's, Prefect would start a temporary server itself; that one outlives a killed
flow and dies of the very Ctrl-C that the flow wants to record. Ours is the same server under `guard.py`. It
stays until the process ends, because Prefect sends its last events then. Prefect is imported after its
environment is set.
"""

import atexit
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from ebmbench.core.errors import UserError
from pipelines.supervise import guarded
from pipelines.workspace import LOGS

_PATIENCE = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"
Settings = Mapping[str, str]
Start = Callable[[Path, ExitStack], str]
_QUIET = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",  # our own lines tell what failed
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    _PATIENCE: "120",  # takes 10-22 s on an idle machine
    "PREFECT_CLIENT_MAX_RETRIES": "3",  # 14 s until a server that died is given up; Prefect's 5 are a minute each time
    "DO_NOT_TRACK": "1",
}
# What Prefect sets for its own temporary server: no user interface, no services for schedules.
_EPHEMERAL = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
_APP = ["uvicorn", "--factory", "prefect.server.api.server:create_app", "--log-level", "error"]
_LOOPBACK = "127.0.0.1"


def prepare_prefect(root: Path, start: Start | None = None) -> None:
    """Set the environment, import Prefect, and give it a server unless the user has named one."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    for name in ("no_proxy", "NO_PROXY"):  # a proxy must not come between the flow and its own machine
        hosts = [host for host in os.environ.get(name, "").split(",") if host not in ("", _LOOPBACK)]
        os.environ[name] = ",".join([*hosts, _LOOPBACK])
    at_exit = ExitStack()
    atexit.register(at_exit.close)  # before Prefect's own, so that it is called after them
    from prefect.context import refresh_global_settings_context
    from prefect.settings import PREFECT_API_URL

    if not PREFECT_API_URL.value():
        os.environ["PREFECT_API_URL"] = (start or start_server)(root, at_exit)
        refresh_global_settings_context()


def start_server(root: Path, owner: ExitStack, port: int | None = None, settings: Settings = _EPHEMERAL) -> str:
    """Start a Prefect server on the loopback interface, to be ended by `owner`; the address of its API."""
    log = root / LOGS / "prefect-server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    port = port or _free_port()
    command = [sys.executable, "-m", *_APP, "--host", _LOOPBACK, "--port", str(port)]
    process = owner.enter_context(guarded(command, log, root, {**os.environ, **settings}))
    _wait_until_healthy(process, port, log)
    return f"http://{_LOOPBACK}:{port}/api"


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    patience = float(os.environ.get(_PATIENCE, _QUIET[_PATIENCE]))
    give_up = time.monotonic() + patience
    while not _healthy(port):
        if process.poll() is not None or time.monotonic() > give_up:
            raise UserError(f"the local Prefect server did not start within {patience:.0f} s, see {log}")
        time.sleep(0.1)


def _healthy(port: int) -> bool:
    connection = HTTPConnection(_LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])

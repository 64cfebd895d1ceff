"""`ebmbench serve`: the flow `scheduled` on a schedule, with the user's Prefect server or one of its own.

Two runs never overlap: a run that finds another active in the clone ends at once, as cancelled. The clone's lock
decides that, and no crash can leave it behind. Prefect's `limit=1` would let the second run wait and start late. Its
deployment limit is counted in the server's memory and is never released if the server dies during a run.

Prefect is imported after `prepare_prefect` has set its environment, so not at the top of this file.
"""

import os
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmbench.errors import UserError
from ebmbench.workspace.layout import SCHEDULE_CLONE
from pipelines.execution.clone import resolve_commit
from pipelines.flows.server import LOOPBACK, prepare_prefect, start_server

if TYPE_CHECKING:
    from prefect.schedules import Schedule

PORT = 4200  # Prefect's own
_PATIENCE_SECONDS = 15.0
_LOG_LEVELS = {"PREFECT_LOGGING_LEVEL": "INFO", "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO"}


@dataclass(frozen=True)
class RunRequest:
    """The parameters of the flow `scheduled`. Relative folders start at the workspace."""

    workspace: str = "."
    revision: str = "HEAD"
    suite: str | None = None
    jobs: int | None = None
    only: tuple[str, ...] = ()
    keep: str | None = None
    clone: str | None = None
    commit: bool = False

    @property
    def source(self) -> Path:
        """The user's workspace, which is read and never written."""
        return Path(self.workspace).resolve()

    @property
    def folder(self) -> Path:
        """The folder of the clone."""
        return (self.source / Path(self.clone or SCHEDULE_CLONE).expanduser()).resolve()

    @property
    def reports(self) -> Path | None:
        """The folder to which reports are copied, if any."""
        return (self.source / Path(self.keep).expanduser()).resolve() if self.keep else None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters for Prefect, with absolute folders, because it may start the flow anywhere."""
        folders = {"workspace": str(self.source), "clone": str(self.folder), "keep": str(self.reports or "") or None}
        return {**asdict(self), **folders, "only": list(self.only)}


def serve_schedule(request: RunRequest, cron: str, timezone: str, name: str, port: int = PORT) -> None:
    """Serve until stopped. Wrong settings are reported now, not at the first run."""
    resolve_commit(request.source, request.revision)
    for variable, value in _LOG_LEVELS.items():
        os.environ.setdefault(variable, value)

    def start(root: Path, owner: ExitStack) -> str:
        _make_schedule(cron, timezone)  # a mistake there is reported before a server is started
        return _start_full_server(root, owner, port)

    prepare_prefect(request.source, start)
    from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL

    from pipelines.flows.schedule import scheduled

    _wait_for_server(str(PREFECT_API_URL.value()))
    schedule = _make_schedule(cron, timezone)
    print(f"serving scheduled/{name}: {request.revision} of {request.source}, at '{cron}' {timezone} time")
    print(f"clone: {request.folder}")
    print(f"reports: {request.reports or 'stay in the clone (--keep FOLDER keeps each)'}")
    ui = PREFECT_UI_URL.value()
    print(f"Prefect: {ui}, now: prefect deployment run scheduled/{name}, stop: Ctrl-C", flush=True)
    scheduled.serve(name=name, schedule=schedule, parameters=dict(request.parameters), print_starting_message=False)


def _make_schedule(cron: str, timezone: str) -> "Schedule":
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.schedules import Cron

    try:
        CronSchedule(cron=cron, timezone=timezone)
    except ValueError as error:
        found = f"--cron '{cron}' --timezone {timezone}"
        raise UserError(f"{found}: allowed: five fields like '0 3 * * *', and a zone like Europe/Zurich") from error
    return Cron(cron, timezone=timezone)


def _start_full_server(root: Path, owner: ExitStack, port: int) -> str:
    """Start a server with the user interface and with the services that make scheduled runs."""
    with socket.socket() as probe:
        if probe.connect_ex((LOOPBACK, port)) == 0:
            api = f"http://{LOOPBACK}:{port}/api"
            raise UserError(
                f"port {port} is taken; if that is your Prefect server, set PREFECT_API_URL={api},"
                " else choose another with --port"
            )
    settings = {
        "PREFECT__SERVER_FINAL": "1",
        "PREFECT_SERVER_API_HOST": LOOPBACK,
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    print(f"starting a Prefect server on {LOOPBACK}:{port}", file=sys.stderr, flush=True)
    return start_server(root, owner, port, settings)


def _wait_for_server(api: str) -> None:
    """Wait for a server that was started a moment ago."""
    from prefect.client.orchestration import get_client

    give_up = time.monotonic() + _PATIENCE_SECONDS
    with get_client(sync_client=True) as client:
        while client.api_healthcheck() is not None:
            if time.monotonic() > give_up:
                raise UserError(
                    f"no Prefect server answers at {api}; start it (`prefect server start`), or unset PREFECT_API_URL "
                    "and a server is started here"
                )
            time.sleep(1)

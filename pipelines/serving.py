"""`ebmbench serve`: the flow `scheduled` on a schedule, with the user's Prefect server or one of its own.

Prefect's `limit=1` would let a run that comes too early wait and then start late; its deployment limit counts in the
server's memory, and a server that dies while a run is at work never gives the slot back. So the clone's own lock
decides: a run that finds another at work ends at once, as cancelled, and no crash can leave the lock behind.
"""

import os
import socket
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ebmbench.core.errors import UserError
from pipelines.clone import commit_of
from pipelines.order import Order
from pipelines.server import prepare_prefect, start_server

if TYPE_CHECKING:
    from prefect.schedules import Schedule

PORT = 4200  # Prefect's own
_LOOPBACK = "127.0.0.1"
_PATIENCE_SECONDS = 15.0
_TALKING = {"PREFECT_LOGGING_LEVEL": "INFO", "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO"}


@dataclass(frozen=True)
class Times:
    """When: a cron line, and the time zone it is meant in."""

    cron: str
    timezone: str = "UTC"


def serve(order: Order, times: Times, name: str, port: int = PORT) -> None:
    """Serve until stopped. All that can be wrong is told now, not at three in the night."""
    commit_of(order.source, order.revision)
    for variable, value in _TALKING.items():
        os.environ.setdefault(variable, value)

    def start(root: Path, owner: ExitStack) -> str:
        _schedule(times)  # a slip there is told before a server is started
        return _start(root, owner, port)

    prepare_prefect(order.source, start)
    from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL

    _require_server(str(PREFECT_API_URL.value()))
    schedule = _schedule(times)
    _say(order, times, name, str(PREFECT_UI_URL.value()))
    from pipelines.scheduled import scheduled

    scheduled.serve(name=name, schedule=schedule, parameters=dict(order.parameters), print_starting_message=False)


def _schedule(times: Times) -> "Schedule":
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.schedules import Cron

    try:
        CronSchedule(cron=times.cron, timezone=times.timezone)
    except ValueError as error:
        found = f"--cron '{times.cron}' --timezone {times.timezone}"
        raise UserError(f"{found}: allowed: five fields like '0 3 * * *', and a zone like Europe/Zurich") from error
    return Cron(times.cron, timezone=times.timezone)


def _start(root: Path, owner: ExitStack, port: int) -> str:
    """A whole server: with the user interface, and with the services that make scheduled runs."""
    with socket.socket() as probe:
        if probe.connect_ex((_LOOPBACK, port)) == 0:
            raise UserError(
                f"port {port} is taken; if that is your Prefect server, set PREFECT_API_URL=http://{_LOOPBACK}:{port}/api,"
                " else choose another with --port"
            )
    settings = {
        "PREFECT__SERVER_FINAL": "1",
        "PREFECT_SERVER_API_HOST": _LOOPBACK,
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    print(f"starting a Prefect server on {_LOOPBACK}:{port}", file=sys.stderr, flush=True)
    return start_server(root, owner, port, settings)


def _require_server(api: str) -> None:
    """A server that was started a moment ago is waited for."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while not _answers():
        if time.monotonic() > give_up:
            raise UserError(
                f"no Prefect server answers at {api}; start it (`prefect server start`), or unset PREFECT_API_URL "
                "and a server is started here"
            )
        time.sleep(1)


def _answers() -> bool:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.api_healthcheck() is None


def _say(order: Order, times: Times, name: str, ui: str) -> None:
    print(f"serving scheduled/{name}: {order.revision} of {order.source}, at '{times.cron}' {times.timezone} time")
    print(f"clone: {order.folder}")
    print(f"reports: {order.kept or 'stay in the clone (--keep FOLDER keeps each)'}")
    print(f"Prefect: {ui}, now: prefect deployment run scheduled/{name}, stop: Ctrl-C", flush=True)

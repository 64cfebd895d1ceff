"""What a schedule asks of every run: which revision, which part of it, and where the report goes.

The Prefect flow `scheduled`: the benchmark at one revision, in a clone of its own.

The user's workspace is only read, so a schedule and the user never get in each other's way. A run that comes while
another is at work in the clone ends at once, as cancelled.

`ebmbench serve`: the flow `scheduled` on a schedule, with the user's Prefect server or one of its own.

Prefect's `limit=1` would let a run that comes too early wait and then start late; its deployment limit counts in the
server's memory, and a server that dies while a run is at work never gives the slot back. So the clone's own lock
decides: a run that finds another at work ends at once, as cancelled, and no crash can leave the lock behind.
"""

import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Failed

from ebmbench.errors import UserError
from ebmbench.workspace.layout import SCHEDULE_CLONE, report_of, require_pipeline
from ebmbench.workspace.locks import Busy, hold_workspace
from pipelines.execution.local import crew
from pipelines.flows.benchmark import carry_out, flow_state
from pipelines.flows.clone import check_out, claim, commit_of, is_edited, make_ready, variables
from pipelines.flows.publish import commit_results, keep_report
from pipelines.flows.server import prepare_prefect, start_server
from pipelines.outcome import Result
from pipelines.planning.plan import read_plan


@dataclass(frozen=True)
class Order:
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
        """Where the clone is."""
        return (self.source / Path(self.clone or SCHEDULE_CLONE).expanduser()).resolve()

    @property
    def kept(self) -> Path | None:
        """Where reports are kept, if anywhere."""
        return (self.source / Path(self.keep).expanduser()).resolve() if self.keep else None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The same for Prefect, with folders that mean the same wherever it starts the flow."""
        folders = {"workspace": str(self.source), "clone": str(self.folder), "keep": str(self.kept or "") or None}
        return {**asdict(self), **folders, "only": list(self.only)}


@flow(name="scheduled", persist_result=False, log_prints=True)
def scheduled(
    workspace: str = ".",
    revision: str = "HEAD",
    suite: str | None = None,
    jobs: int | None = None,
    only: list[str] | None = None,
    keep: str | None = None,
    clone: str | None = None,
    commit: bool = False,
) -> State[Any]:
    """Bring a clone of the workspace's `revision` up to date, and keep its report in the folder `keep`.

    Args:
        workspace: The project's folder; it is only read, and relative folders start there.
        revision: A branch, a tag or a commit, looked up at every run. Uncommitted changes are in none.
        suite: The suite to run; none means what params.yaml says at that revision.
        jobs: Stages at a time; none means one per core.
        only: Only these cells (METHOD/DATASET), what they need, and the report.
        keep: Each new report is copied to keep/<suite>/<time>-<commit>/.
        clone: Where the clone is; none means work/scheduled/clone.
        commit: Commit dvc.lock and reports/ as branch scheduled/<suite>/<commit> of the workspace's repository.

    """
    order = Order(workspace, revision, suite, jobs, tuple(only or ()), keep, clone, commit)
    try:
        return flow_state(_run(order))
    except Busy as error:
        return Cancelled(message=f"not started: {str(error).partition(';')[0]}")
    except UserError as error:
        return Failed(message=str(error))


def _run(order: Order) -> Result:
    tested = commit_of(order.source, order.revision)
    claim(order.folder)
    with hold_workspace(order.folder):
        again = check_out(order.folder, order.source, tested)
        print(_told(order, tested, again))
        require_pipeline(order.folder)
        with _set(variables(order.folder, order.source)):
            make_ready(order.folder, order.suite)
            result = _bring_up_to_date(order)
        _keep(order, result, tested)
    _tell(order, result)
    return result


def _bring_up_to_date(order: Order) -> Result:
    plan = read_plan(order.folder, order.only)
    if not plan.todo:
        return Result(report=report_of(order.folder), only=plan.only)
    with crew(order.folder, plan, order.jobs, None) as hands:
        return carry_out(order.folder, plan, hands, keep_going=True)


def _keep(order: Order, result: Result, tested: str) -> None:
    if order.kept and (place := keep_report(order.folder, result, tested, order.kept)):
        print(f"kept: {place}")
    if order.commit and (branch := commit_results(order.folder, result, tested, order.source)):
        print(f"committed: branch {branch}")


def _tell(order: Order, result: Result) -> None:
    report = f"report: {order.folder / result.report}" if result.report else None
    for line in filter(None, [result.message, report, result.since]):
        print(line)


def _told(order: Order, tested: str, again: bool) -> str:
    state = "as the last run left it" if again else "checked out anew"
    line = f"{order.revision} is commit {tested[:7]}; the clone {order.folder} is {state}"
    edited = is_edited(order.source, order.kept)
    return f"{line}; uncommitted changes of {order.source} are not in it" if edited else line


@contextmanager
def _set(own: dict[str, str]) -> Iterator[None]:
    """DVC and the stages inherit these; so would the next flow in this process, if they stayed."""
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


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

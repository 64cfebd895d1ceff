"""The Prefect flow `scheduled`: the benchmark at one revision, in a clone of its own.

The user's workspace is only read, so a schedule and the user never get in each other's way. A run that comes while
another is at work in the clone ends at once, as cancelled.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Failed

from ebmbench.core.errors import UserError
from pipelines.clone import check_out, claim, commit_of, is_edited
from pipelines.crew import crew
from pipelines.flow import carry_out, flow_state
from pipelines.inside import make_ready, variables
from pipelines.keeping import commit_results, keep_report
from pipelines.lock import Busy, only_flow
from pipelines.order import Order
from pipelines.outcome import Result
from pipelines.plan import read_plan
from pipelines.workspace import report_of, require_pipeline


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
    with only_flow(order.folder):
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

"""The Prefect flow `scheduled`: the benchmark at one revision, in a clone of its own.

The user's workspace is only read, so a schedule and the user never get in each other's way. A run that starts while
another is active in the clone ends at once, as cancelled.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Cancelled, Failed

from ebmbench.errors import UserError
from ebmbench.workspace.layout import report_of, require_pipeline
from ebmbench.workspace.locks import Busy, hold_workspace
from pipelines.execution.clone import (
    check_out,
    clone_variables,
    has_uncommitted_changes,
    init_clone,
    prepare_clone,
    resolve_commit,
)
from pipelines.execution.local import open_runner
from pipelines.execution.warm import open_warm_dvc
from pipelines.flows.benchmark import flow_state, run_plan
from pipelines.flows.publish import commit_results, copy_report, name_run
from pipelines.flows.serve import RunRequest
from pipelines.outcome import Result
from pipelines.planning.lockfile import LockBuffer
from pipelines.planning.plan import read_plan


def _name_run() -> str:
    given = flow_run.parameters
    return name_run(Path(given.get("workspace", ".")), given.get("revision", "HEAD"), given.get("suite"))


@flow(name="scheduled", flow_run_name=_name_run, persist_result=False, log_prints=True)
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
    """Bring a clone of the workspace's `revision` up to date, and copy its report to the folder `keep`.

    Args:
        workspace: The project's folder. It is only read; relative folders start there.
        revision: A branch, a tag or a commit, looked up at every run. Uncommitted changes are not in it.
        suite: The suite to run; none means what params.yaml says at that revision.
        jobs: Stages at a time; none means one per core.
        only: Only these cells (METHOD/DATASET), what they need, and the report.
        keep: Each new report is copied to keep/<suite>/<time>-<commit>/.
        clone: The folder of the clone; none means work/scheduled/clone.
        commit: Commit dvc.lock and reports/ as branch scheduled/<suite>/<commit> of the workspace's repository.

    """
    request = RunRequest(workspace, revision, suite, jobs, tuple(only or ()), keep, clone, commit)
    try:
        return flow_state(_run(request))
    except Busy as error:
        return Cancelled(message=f"not started: {str(error).partition(';')[0]}")
    except UserError as error:
        return Failed(message=str(error))


def _run(request: RunRequest) -> Result:
    commit = resolve_commit(request.source, request.revision)
    init_clone(request.folder)
    with hold_workspace(request.folder):
        unchanged = check_out(request.folder, request.source, commit)
        print(_describe_clone(request, commit, unchanged))
        require_pipeline(request.folder)
        with _set_environment(clone_variables(request.folder, request.source)):
            prepare_clone(request.folder, request.suite)
            result = _run_benchmark(request)
        _publish(request, result, commit)
    report = f"report: {request.folder / result.report}" if result.report else None
    for line in filter(None, [result.message, *result.standing_lines, report, result.since]):
        print(line)
    return result


def _run_benchmark(request: RunRequest) -> Result:
    LockBuffer(request.folder).recover()
    with open_warm_dvc(request.folder) as warm:
        plan = read_plan(request.folder, request.only, warm.call)
        if not plan.todo:
            return Result(report=report_of(request.folder), only=plan.only)
        with open_runner(request.folder, plan, request.jobs, None, warm) as runner:
            return run_plan(request.folder, plan, runner, keep_going=True)


def _publish(request: RunRequest, result: Result, commit: str) -> None:
    if request.reports and (place := copy_report(request.folder, result, commit, request.reports)):
        print(f"kept: {place}")
    if request.commit and (branch := commit_results(request.folder, result, commit, request.source)):
        print(f"committed: branch {branch}")


def _describe_clone(request: RunRequest, commit: str, unchanged: bool) -> str:
    state = "as the last run left it" if unchanged else "checked out anew"
    line = f"{request.revision} is commit {commit[:7]}; the clone {request.folder} is {state}"
    if has_uncommitted_changes(request.source, request.reports):
        line += f"; uncommitted changes of {request.source} are not in it"
    return line


@contextmanager
def _set_environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables that DVC and the stages inherit, and reset them for the next flow in this process."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value

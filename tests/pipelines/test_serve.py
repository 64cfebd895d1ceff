"""A day of a schedule with a real Prefect server: it fires by itself, is looked at in a browser, and is stopped."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from pipelines.flows.server import _free_port
from tests.browser.conftest import browser
from tests.pipelines.conftest import _wait_until
from tests.pipelines.test_clone import resolve_commit, run_git
from tests.pipelines.test_flow import latest

__all__ = ["browser"]
pytestmark = pytest.mark.slow  # two minutes of a clock that nobody can hurry
WaitUntil = Callable[[Callable[[], object], float, str], None]
NAME = "workspace"


@dataclass
class Served:
    """`ebmbench serve` at work in a workspace, with a server of its own."""

    root: Path
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def log(self) -> str:
        return self.root.with_suffix(".log").read_text()

    def runs(self, *states: str) -> list[dict[str, Any]]:
        """Flow runs in the order of the schedule."""
        chosen = {"flow_runs": {"state": {"type": {"any_": list(states)}}}}
        return latest(self.api, "flow_runs", sort="EXPECTED_START_TIME_ASC", **chosen)

    def done(self) -> list[str]:
        return [run["state"]["message"] for run in self.runs("COMPLETED", "FAILED", "CRASHED")]

    def paused(self) -> bool:
        """The deployment is made a moment after the line that announces it."""
        return all(deployment["paused"] for deployment in latest(self.api, "deployments"))


def start(root: Path, port: int) -> Served:
    command = [sys.executable, "-m", "ebmbench", "serve", "--cron", "* * * * *", "--keep", "kept", "--port", str(port)]
    with root.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(command, cwd=root, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    return Served(root, port, process)


def stop(served: Served) -> None:
    if served.process.poll() is None:
        os.killpg(served.process.pid, signal.SIGINT)  # as a terminal does
    served.process.wait(timeout=60)


@pytest.fixture(scope="module")
def served(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = Path(shutil.copytree(template, tmp_path_factory.mktemp("served") / NAME))
    run_git(root, "add", "--all")
    run_git(root, "commit", "--quiet", "--message", "first")
    (root / "code/nce.py").write_text("# not committed\n")
    served = start(root, _free_port())
    try:
        _wait_until(lambda: f"serving scheduled/{NAME}" in served.log, 120, "it serves")
        yield served
    finally:
        stop(served)


def test_it_fires_twice_by_itself_and_the_second_run_has_nothing_to_do(served: Served, wait_until: WaitUntil) -> None:
    wait_until(lambda: len(served.done()) >= 2, 240, "two runs have ended")
    first, second = served.done()[:2]
    assert first.startswith("11 ran in ")
    assert second == "nothing to do: everything is up to date"
    assert all(run["auto_scheduled"] for run in served.runs("COMPLETED"))
    assert served.runs("COMPLETED")[1]["total_run_time"] < 30
    assert [folder.name[-7:] for folder in (served.root / "kept/tiny").iterdir()] == [
        resolve_commit(served.root, "HEAD")[:7]
    ]


def test_the_workspace_is_as_the_user_left_it_and_the_log_says_what_was_not_run(served: Served) -> None:
    assert run_git(served.root, "status", "--porcelain").splitlines() == ["M code/nce.py", "?? kept/"]
    assert not (served.root / "runs").exists()
    assert (served.root / "work/scheduled/clone/code/nce.py").read_text() == "# nce\n"
    assert f"uncommitted changes of {served.root} are not in it" in served.log


def test_a_new_commit_makes_the_next_run_work_on_what_it_concerns(served: Served, wait_until: WaitUntil) -> None:
    (served.root / "code/dsm.py").write_text("# better\n")
    run_git(served.root, "commit", "--quiet", "--message", "second", "code/dsm.py")
    before = len(served.done())
    wait_until(lambda: len(served.done()) > before and "ran" in " ".join(served.done()[before:]), 150, "it has run")
    message = next(message for message in served.done()[before:] if "ran" in message)
    assert message.startswith("5 ran in ")  # train and evaluate of two cells, and the report
    assert len(list((served.root / "kept/tiny").iterdir())) == 2


def test_the_page_of_the_run_shows_its_stages_and_artifacts(served: Served, browser: Browser, tmp_path: Path) -> None:
    run = served.runs("COMPLETED")[0]
    page = browser.new_page(viewport={"width": 1400, "height": 1200})
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url.partition("//")[2].partition("/")[0]))
    page.goto(f"http://127.0.0.1:{served.port}/runs/flow-run/{run['id']}")
    expect(page.get_by_text("11 Task runs")).to_be_visible(timeout=60_000)
    page.get_by_text("Artifacts", exact=True).click()
    for key in ("benchmark-progress", "benchmark-stages", "benchmark-report"):
        expect(page.get_by_text(key).first).to_be_visible(timeout=60_000)
    page.screenshot(path=os.environ.get("EBMBENCH_SCREENSHOT") or tmp_path / "run.png")
    page.close()
    assert {host for host in asked if host} == {f"127.0.0.1:{served.port}"}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_ctrl_c_pauses_the_schedule_and_leaves_no_process_serving_again_resumes_it_and_a_run_at_work_stops_too(
    served: Served, wait_until: WaitUntil, processes_in: Callable[[Path], dict[int, str]]
) -> None:
    wait_until(served.done, 120, "it has run")
    assert not served.paused()
    stop(served)
    assert served.process.returncode == 0
    assert "All deployments have been paused" in served.log
    wait_until(lambda: not processes_in(served.root), 10, "nothing runs")
    again = start(served.root, served.port)
    try:
        wait_until(lambda: served.log.count(f"serving scheduled/{NAME}") == 2, 120, "it serves again")
        wait_until(lambda: not again.paused(), 30, "the schedule is active")
        _stop_in_the_middle(again, wait_until)
    finally:
        stop(again)
    wait_until(lambda: not processes_in(served.root), 15, "no stage runs")


def _stop_in_the_middle(served: Served, wait_until: WaitUntil) -> None:
    (served.root / "code/dsm.py").write_text("# slow\n")
    (served.root / "before/rings-dsm.sh").write_text("touch work/begun; sleep 100\n")
    run_git(served.root, "commit", "--quiet", "--message", "third", "code/dsm.py", "before/rings-dsm.sh")
    wait_until((served.root / "work/scheduled/clone/work/begun").exists, 120, "a stage is at work")

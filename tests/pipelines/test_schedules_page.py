"""Every command of docs/schedules.md, in its order, with real servers; only clock and ports are not the page's."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.flows.server import _free_port, _healthy
from tests.pipelines.test_clone import run_git
from tests.pipelines.test_flow import latest

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "docs" / "schedules.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
# Commands that stay until Ctrl-C, and what they say when they are ready.
STAYING = {"ebmbench serve": "serving scheduled/", "prefect server": "dashboard at", "prefect worker": "started!"}
WaitUntil = Callable[[Callable[[], object], float, str], None]


class Terminal:
    """A user's terminals: one environment, and what stays runs in the background with its output in a file."""

    def __init__(self, root: Path, port: int, wait_until: WaitUntil) -> None:
        self.root, self.port, self.wait_until, self.said = root, port, wait_until, ""
        self.variables = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        self.started: dict[str, subprocess.Popen[bytes]] = {}

    def enter(self, line: str) -> None:
        """What a user types, but for the port."""
        line = line.replace("4200", str(self.port))
        kind = " ".join(line.split()[:2])
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.variables[name] = value
        elif kind in STAYING:
            self._start(line, kind)
        else:
            self.said = self._run(line)

    def stop(self, kind: str) -> None:
        if process := self.started.pop(kind, None):
            os.killpg(process.pid, signal.SIGINT)
            process.wait(timeout=60)

    def log(self, kind: str) -> str:
        return (self.root.parent / f"{kind}.log").read_text()

    def _run(self, line: str) -> str:
        words, env = self._words(line), {**os.environ, **self.variables}
        done = subprocess.run(words, cwd=self.root, env=env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def _start(self, line: str, kind: str) -> None:
        self.stop("ebmbench serve")  # as the page says, before the next way is tried
        words = self._words(line) + (["--port", str(self.port)] if kind != "prefect worker" else [])
        env = {**os.environ, **self.variables}
        with (self.root.parent / f"{kind}.log").open("wb") as log:
            self.started[kind] = subprocess.Popen(
                words, cwd=self.root, env=env, stdout=log, stderr=log, start_new_session=True
            )
        ready = lambda: STAYING[kind] in self.log(kind) and (kind != "prefect server" or _healthy(self.port))  # noqa: E731
        self.wait_until(ready, 120, f"{line}: {STAYING[kind]}")

    def _words(self, line: str) -> list[str]:
        """The command by name, but this source's."""
        program, *words = shlex.split(line)
        return [sys.executable, "-m", program, *words] if program == "ebmbench" else [program, *words]


@pytest.fixture
def terminal(template: Path, tmp_path: Path, wait_until: WaitUntil) -> Iterator[Terminal]:
    """In a small project that has the deployment's file, and a flow to be found where that says."""
    root = Path(shutil.copytree(template, tmp_path / "project"))
    shutil.copy(PROJECT / "prefect.yaml", root)
    (root / "pipelines").symlink_to(PROJECT / "pipelines")
    (root / ".gitignore").write_text("/data/\n/runs/\nwork/\n/nightly/\n/pipelines\n")
    run_git(root, "add", "--all")
    run_git(root, "commit", "--quiet", "--message", "first")
    terminal = Terminal(root, _free_port(), wait_until)
    yield terminal
    for kind in reversed(list(terminal.started)):
        terminal.stop(kind)


def test_the_page_has_every_kind_of_command() -> None:
    kinds = {" ".join(line.split()[:2]) for line in LINES}
    assert kinds >= {*STAYING, "prefect deploy", "prefect deployment", "prefect work-pool"}


@pytest.mark.slow
def test_the_page_from_top_to_bottom(terminal: Terminal) -> None:
    clone = terminal.root / "work/scheduled/clone"
    for line in LINES:
        terminal.enter(line)
        if "--watch" in line:
            assert "finished successfully" in " ".join(terminal.said.split())
            assert (clone / "reports/tiny/latest/report.md").exists()
    assert "starting a Prefect server" not in terminal.log("ebmbench serve")  # the second used the user's
    assert len(list((terminal.root / "nightly/tiny").iterdir())) == 1
    assert not latest(terminal.variables["PREFECT_API_URL"], "deployments", deployments={"name": {"any_": ["nightly"]}})


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_said_in_one_line(terminal: Terminal) -> None:
    env = {**os.environ, "PREFECT_API_URL": f"http://127.0.0.1:{terminal.port}/api"}
    command = [sys.executable, "-m", "ebmbench", "serve", "--cron", "0 3 * * *"]
    done = subprocess.run(command, cwd=terminal.root, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"no Prefect server answers at http://127.0.0.1:{terminal.port}/api; start it" in done.stderr

"""Small real DVC repositories: two datasets, two methods, shell commands instead of training."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipelines.flows.server import start_server

PROJECT = Path(__file__).parents[2]

PARAMS = """\
benchmark: {suite: tiny, datasets: [two_moons, rings], methods: [dsm, nce]}
methods:
  dsm: {sigma: 0.5, steps: 10}
  nce: {ratio: 1, steps: 10}
"""

# `before` is a file of shell that train@ sources first: tests put a failure or a long sleep there.
PIPELINE = """\
stages:
  prepare:
    matrix: {dataset: "${benchmark.datasets}"}
    cmd: mkdir -p data/${item.dataset} && echo ${item.dataset} > data/${item.dataset}/x
    outs: ["data/${item.dataset}"]
  train:
    matrix: {dataset: "${benchmark.datasets}", method: "${benchmark.methods}"}
    cmd: >-
      . ./before/${item.dataset}-${item.method}.sh &&
      mkdir -p runs/tiny/${item.dataset}/${item.method}/train &&
      cat params.yaml code/${item.method}.py > runs/tiny/${item.dataset}/${item.method}/train/model
    deps: ["data/${item.dataset}", "code/${item.method}.py"]
    params: ["methods.${item.method}"]
    outs: ["runs/tiny/${item.dataset}/${item.method}/train"]
  evaluate:
    matrix: {dataset: "${benchmark.datasets}", method: "${benchmark.methods}"}
    cmd: cd runs/tiny/${item.dataset}/${item.method} && cp train/model rows.csv
    deps: ["runs/tiny/${item.dataset}/${item.method}/train"]
    outs: ["runs/tiny/${item.dataset}/${item.method}/rows.csv"]
  report:
    cmd: mkdir -p reports/tiny/latest && find runs | sort > reports/tiny/latest/report.md
    params: [benchmark]
    deps: [runs/tiny]
    outs: [{reports/tiny/latest/report.md: {cache: false}}]
"""

CELLS = ["two_moons-dsm", "two_moons-nce", "rings-dsm", "rings-nce"]


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Homes for DVC's and Prefect's own files, so that the user's are not touched."""
    folder = tmp_path_factory.mktemp("sandbox")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_SITE_CACHE_DIR", str(folder / "dvc"))
        patch.setenv("PREFECT_HOME", str(folder / "prefect"))
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("DO_NOT_TRACK", "1")
        patch.delenv("PREFECT_API_URL", raising=False)
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("PYTHONPATH", str(PROJECT))
        yield folder


@pytest.fixture(scope="session")
def template(sandbox: Path) -> Path:
    root = sandbox / "template"
    for folder in ("code", "before"):
        (root / folder).mkdir(parents=True)
    (root / "params.yaml").write_text(PARAMS)
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / ".gitignore").write_text("/data/\n/runs/\nwork/\n")
    for method in ("dsm", "nce"):
        (root / "code" / f"{method}.py").write_text(f"# {method}\n")
    for cell in CELLS:
        (root / "before" / f"{cell}.sh").write_text("true\n")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    _dvc(root, "init", "--quiet")
    (root / ".dvc" / "config").write_text("[core]\n    analytics = false\n    check_update = false\n")
    (root / ".dvcignore").write_text("work/\n")
    return root


@pytest.fixture
def workspace(template: Path, tmp_path: Path) -> Path:
    """A repository in which nothing has run yet."""
    return Path(shutil.copytree(template, tmp_path / "workspace"))


@pytest.fixture(scope="session")
def done_template(template: Path, sandbox: Path) -> Path:
    root = Path(shutil.copytree(template, sandbox / "done"))
    _dvc(root, "repro", "--quiet")
    return root


@pytest.fixture
def done(done_template: Path, tmp_path: Path) -> Path:
    """A repository in which everything is up to date."""
    return Path(shutil.copytree(done_template, tmp_path / "done"))


@pytest.fixture(scope="module")
def api(sandbox: Path) -> Iterator[str]:
    """A Prefect server for a whole file: starting one takes longer than a flow."""
    with ExitStack() as stack:
        yield start_server(sandbox, stack)


@pytest.fixture
def dvc() -> Callable[..., str]:
    return _dvc


@pytest.fixture
def before() -> Callable[[Path, str, str], None]:
    return _before


@pytest.fixture(name="processes_in")
def processes_in_fixture() -> Callable[[Path], dict[int, str]]:
    return processes_in


@pytest.fixture
def wait_until() -> Callable[[Callable[[], object], float, str], None]:
    return _wait_until


def _dvc(root: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def _before(root: Path, cell: str, shell: str) -> None:
    """Let the training of one cell begin with this line of shell."""
    (root / "before" / f"{cell}.sh").write_text(shell + "\n")


def processes_in(folder: Path) -> dict[int, str]:
    """The command lines of all processes that work in the folder (Linux)."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # it ended while we looked
            continue
    return found


def _wait_until(true: Callable[[], object], seconds: float, what: str) -> None:
    """Wait for something to become true, and fail loudly if it does not."""
    give_up = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up, f"after {seconds} s still not so: {what}"
        time.sleep(0.05)

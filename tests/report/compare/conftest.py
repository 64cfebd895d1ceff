"""A real repository with two commits and a deliberate change between them, and the command in it."""

import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest

from ebmbench.cli.main import main
from ebmbench.report.results.table import to_frame, write_results

PROJECT = Path(__file__).parents[3]
RUN = "import os, sys; from ebmbench.cli.main import main; os.chdir(sys.argv[1]); sys.exit(main(sys.argv[2:]))"
PARAMS = """\
benchmark:
  suite: small
training: {{budget: {budget}}}
methods:
  dsm: {{sigma: 0.1}}
"""


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def write(root: Path, budget: int, kl: list[float], fisher: list[float]) -> None:
    """The files of one state: parameters, code and report."""
    (root / "params.yaml").write_text(PARAMS.format(budget=budget), encoding="utf-8")
    (root / "ebmbench").mkdir(exist_ok=True)
    (root / "ebmbench" / "dsm.py").write_text(f"BUDGET = {budget}\n", encoding="utf-8")
    place = {"suite": "small", "dataset": "two_moons", "method": "dsm", "status": "ok", "direction": "lower"}
    values = [(metric, seed, one) for metric, ones in (("kl", kl), ("fisher", fisher)) for seed, one in enumerate(ones)]
    place |= {"digest": str(budget)}
    rows = [
        place | {"seed": str(seed), "label": f"seed={seed}", "metric": metric, "value": repr(one)}
        for metric, seed, one in values
    ]
    folder = root / "reports" / "small" / "latest"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text("# Report\n", encoding="utf-8")
    write_results(to_frame(rows), folder / "results.csv")
    shutil.copyfile(root / "params.yaml", folder / "params.yaml")


@pytest.fixture(autouse=True, scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """DVC's own files go elsewhere than the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path_factory.mktemp("dvc")))
        yield


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory, sandbox: None) -> Path:
    """To read: tag v1, then half the budget."""
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "--quiet")
    subprocess.run([sys.executable, "-m", "dvc", "init", "--quiet"], cwd=root, check=True)
    write(root, 100, kl=[0.10, 0.20, 0.30], fisher=[1.0, 2.0, 3.0])
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "first")
    git(root, "tag", "v1")
    shutil.copytree(root / "reports" / "small" / "latest", root / "reports" / "small" / "1.0")
    write(root, 50, kl=[0.20, 0.41, 0.61], fisher=[1.0, 2.0, 3.0])
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "half the budget")
    return root


def print_comparison(root: Path, *words: str) -> str:
    """What the command prints, without a process of its own, which would spend its time on importing DVC."""
    printed = io.StringIO()
    with chdir(root), redirect_stdout(printed):
        assert main(["compare", *words]) == 0
    return printed.getvalue()


def compare(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, in the repository; the program is imported first, for there is a folder of its name there."""
    command = [sys.executable, "-c", RUN, str(root), "compare", *words]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)

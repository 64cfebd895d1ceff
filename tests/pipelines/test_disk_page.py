"""docs/disk.md: its commands, in their order, and what it says of what they keep and lose."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ebmbench.workspace.layout import SCHEDULE_CLONE
from pipelines.execution.clone import check_out, init_clone, resolve_commit
from tests.pipelines.test_clone import run_git

TEXT = (Path(__file__).parents[2] / "docs" / "disk.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
Dvc = Callable[..., str]
pytestmark = pytest.mark.slow  # DVC takes a second or two for each


def enter(root: Path, line: str, home: Path) -> str:
    """What a user types, with this source's command and a Prefect of its own."""
    line = line.replace("ebmbench clean", f"{sys.executable} -m ebmbench clean")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    env["PREFECT_HOME"] = str(home)
    done = subprocess.run(["sh", "-c", line], cwd=root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture
def project(done: Path) -> Path:
    """A repository with all that takes disk: results, `work/`, and the clone of a schedule."""
    (done / "work/0123456789abcdef/done").mkdir(parents=True)
    (done / "work/0123456789abcdef/done/model.safetensors").write_bytes(bytes(2**20))
    (done / "work/00000000000000aa").mkdir()
    (done / "work/00000000000000aa/checkpoint.safetensors").write_bytes(bytes(2**20))
    for folder in ("features", "prepared"):
        (done / folder).mkdir()
    run_git(done, "add", "--all")
    run_git(done, "commit", "--quiet", "--message", "first")
    init_clone(done / SCHEDULE_CLONE)
    check_out(done / SCHEDULE_CLONE, done, resolve_commit(done, "HEAD"))
    return done


def test_every_command_of_the_page_works_in_its_order(project: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(project / SCHEDULE_CLONE, clone)
    for line in LINES:
        if line.startswith("cd work/scheduled") and not (project / SCHEDULE_CLONE).exists():  # `clean --all` removed it
            shutil.copytree(clone, project / SCHEDULE_CLONE)
        said = enter(project, line, tmp_path / "prefect")
        if line == "ebmbench clean":
            assert "freed 1.0 MiB (--all frees the rest)" in said.replace("      ", "")
            assert (project / "work/00000000000000aa/checkpoint.safetensors").exists()
            assert (project / SCHEDULE_CLONE).exists()
        if line == "ebmbench clean --all":
            assert not (project / "work/00000000000000aa").exists()
            assert not (project / SCHEDULE_CLONE).exists()


def test_what_the_workspace_does_not_need_is_computed_again_after_gc_and_restored_before(
    project: Path, tmp_path: Path, dvc: Dvc
) -> None:
    first, second = (project / "params.yaml").read_text(), "sigma: 0.7"
    runs = sum(1 for _ in (project / ".dvc/cache/runs").rglob("*"))
    (project / "params.yaml").write_text(first.replace("sigma: 0.5", second))
    dvc(project, "repro")
    (project / "params.yaml").write_text(first)
    assert "Stage 'train@two_moons-dsm' is cached - skipping run" in dvc(project, "repro")
    assert dvc(project, "gc", "--workspace", "--force")
    assert dvc(project, "status", "--json").strip() == "{}"
    (project / "params.yaml").write_text(first.replace("sigma: 0.5", second))
    assert "Running stage 'train@two_moons-dsm'" in dvc(project, "repro")
    assert sum(1 for _ in (project / ".dvc/cache/runs").rglob("*")) >= runs


def test_gc_of_all_commits_keeps_what_a_commit_names(project: Path, dvc: Dvc) -> None:
    first = (project / "params.yaml").read_text()
    (project / "params.yaml").write_text(first.replace("sigma: 0.5", "sigma: 0.7"))
    dvc(project, "repro")
    run_git(project, "commit", "--quiet", "--all", "--message", "second")
    dvc(project, "gc", "--workspace", "--all-commits", "--force")
    run_git(project, "checkout", "--quiet", "HEAD~1")
    dvc(project, "checkout")
    assert dvc(project, "status", "--json").strip() == "{}"

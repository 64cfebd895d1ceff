"""A clone of the project as it stands, with a suite that takes seconds, and the real commands in it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ebmbench.workspace.files import read_json
from pipelines.flows.server import start_server

ROOT = Path(__file__).parents[2]
TINY = """\
# The whole path in seconds, for tests.
benchmark:
  suite: tiny
  seeds: [0]
  datasets: [two_moons]
  methods: [nce, dsm]
training: {budget: 20_000, rows: 10, snapshots: [0.5]}
sampling: {chains: 400, sampler: {steps: 3}}
metrics: {cells: 64, block: 200}
methods: {dsm: {sigma: 0.1}}
"""


@dataclass(frozen=True)
class Clone:
    """A workspace of its own with everything that DVC and Prefect keep in temporary folders."""

    root: Path
    home: Path
    server: str

    def run(self, *command: str, code: int = 0, **variables: str) -> str:
        """Run a command and give back all it printed; the exit code must be `code`."""
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.root,
            env=self.environment() | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def environment(self) -> dict[str, str]:
        """No folder of the user's is touched, and nothing is inherited that would point elsewhere."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("DVC_", "PREFECT_", "COV_", "GIT_"))}
        own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(self.root)}
        own |= {"DVC_SITE_CACHE_DIR": str(self.home / "dvc"), "PREFECT_HOME": str(self.home / "prefect")}
        return inherited | own | {"OMP_NUM_THREADS": "1", "PREFECT_API_URL": self.server}

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a piece of text that must be there."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        (self.root / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    def outcomes(self) -> dict[str, str]:
        """How each stage of the last flow ended."""
        stages = read_json(self.root / "work/flow/outcomes.json")["stages"]
        return {name: stage["kind"] for name, stage in stages.items()}

    def stale(self) -> set[str]:
        """What `dvc status` finds changed."""
        return set(json.loads(self.run("dvc", "status", "--json")))

    def metrics(self) -> dict[str, Any]:
        """All metrics files, as bytes by path."""
        files = sorted((self.root / "runs").rglob("metrics.json"))
        return {file.relative_to(self.root).as_posix(): file.read_bytes() for file in files}

    def trained(self) -> set[str]:
        """Digests of all finished trainings in `work/`."""
        return {path.parents[1].name for path in (self.root / "work").glob("*/done/model.safetensors")}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One Prefect server for all flows but the first, which starts its own."""
    folder = tmp_path_factory.mktemp("server")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as owner:
        patch.setenv("PREFECT_HOME", str(folder / "prefect"))
        yield start_server(folder, owner)


def make_clone(folder: Path, server: str, suite: str = TINY) -> Clone:
    """The tracked and the new files, committed into a repository of their own."""
    root = folder / "clone"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("reports/", "dvc.lock")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, root / name)
    (root / "suites" / "tiny.yaml").write_text(suite, encoding="utf-8")
    clone = Clone(root, folder / "home", server)
    clone.run("ebmbench", "suite", "use", "tiny", "--force")
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "clone"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return clone


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, server: str) -> Clone:
    """One clone for a module: its tests follow one another like a user's day."""
    return make_clone(tmp_path_factory.mktemp("flow"), server)


@pytest.fixture
def other_clone(tmp_path: Path, server: str) -> Clone:
    """A second clone that has run nothing."""
    return make_clone(tmp_path, server)

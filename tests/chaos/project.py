"""A small project for faults to be injected into, and the real commands run in it."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARAMS = """\
benchmark: {suite: tiny, seeds: [0], datasets: [mine], methods: [dsm], baselines: [], metrics: [mmd], claims: []}
training: {budget: 4000, rows: 4}
models: {mlp: {width: 8, layers: 2}}
sampling: {chains: 100, sampler: {kind: mala, steps: 2}}
features: {}
metrics: {health: {}}
data: {}
claims: {}
datasets: {mine: {source: mine.npy}, crash: {source: crash.py}, mnist: {source: ebmbench/data/mnist.py}}
methods: {dsm: {sigma: 0.1}}
"""
COPIED = ("ebmbench", "pipelines", "suites", ".dvc", "dvc.yaml", ".dvcignore", ".gitignore")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    error: str

    def complaint(self, *codes: int) -> str | None:
        """What is wrong with this ending: another exit code, or anything but one line that starts with `error: `.

        That a run begins may be said before.
        """
        lines = [line for line in self.error.splitlines() if line.strip() and not line.startswith("starting")]
        if self.code not in codes:
            return f"exit code {self.code} and not {codes}: {self.error[-200:]}"
        if "Traceback" in self.out + self.error:
            return f"a traceback: {self.error[-200:]}"
        if self.code and (len(lines) != 1 or not lines[0].startswith("error: ")):
            return f"{len(lines)} lines: {self.error[:200]}"
        return None


class Project:
    """A folder of its own with a dataset of its own, which is prepared and trained once."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        self.root, self.home = folder / "project", folder / "home"
        self.root.mkdir(parents=True)
        for name in COPIED:
            source = ROOT / name
            copy: Callable[..., object] = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, self.root / name)
        (self.root / "params.yaml").write_text(PARAMS, encoding="utf-8")
        np.save(self.root / "mine.npy", np.random.default_rng(0).normal(size=(300, 2)))
        (self.root / "crash.py").write_text("def sample(count, generator):\n    return [][count]\n", encoding="utf-8")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        for stage in ("prepare mine", "train mine dsm"):
            ended = self.ebmbench(*stage.split())
            assert ended.code == 0, ended.error

    def ebmbench(self, *words: str, **variables: str) -> Ended:
        """`ebmbench …`."""
        return self.run([sys.executable, "-m", "ebmbench", *words], **variables)

    def run(self, command: list[str], before: Callable[[], None] | None = None, **variables: str) -> Ended:
        """Any command in the project; `before` is called in its process."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("DVC_", "PREFECT_", "GIT_", "EBMBENCH_"))}
        own = {"PYTHONPATH": str(self.root), "DVC_SITE_CACHE_DIR": str(self.home / "dvc"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=self.root, env=inherited | own | variables, capture_output=True, check=False, preexec_fn=before
        )
        text = [stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr)]
        return Ended(done.returncode, *text)

    def kept(self) -> dict[str, str]:
        """What nobody may lose: the user's files and all finished results, by their hashes."""
        files = [self.root / "params.yaml", self.root / "mine.npy", self.root / "dvc.lock"]
        files += [
            path for name in ("prepared", "features", "runs", "reports") for path in (self.root / name).rglob("*")
        ]
        found = sorted(path for path in files if path.is_file() and not path.name.endswith(".part"))
        return {path.relative_to(self.root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}

    def swapped(self, name: str, body: bytes | None) -> Callable[[], None]:
        """Put other bytes (or nothing) in a file's place; gives back what undoes it."""
        path = self.root / name
        whole = path.read_bytes() if path.is_file() else None
        path.unlink(missing_ok=True)
        if body is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)

        def undo() -> None:
            path.unlink(missing_ok=True)
            if whole is not None:
                path.write_bytes(whole)

        return undo

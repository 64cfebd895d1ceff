"""A fresh clone of a revision in which `ebmbench` runs and is measured, and the results that it leaves."""

import csv
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tables import show_progress

ROOT = Path(__file__).parents[2]
PROCESS_TREE = Path(__file__).with_name("process_tree.py")
PATIENCE_SECONDS = 60  # from one line of progress to the next

# Suites of the benchmarks' own; any other is one of `suites/`. Each has the cell dsm/two_moons.
TINY = """\
benchmark: {suite: tiny, seeds: [0], datasets: [two_moons], methods: [nce, dsm]}
training: {budget: 20_000, rows: 10, snapshots: [0.5]}
sampling: {chains: 400, sampler: {steps: 3}}
metrics: {cells: 64, block: 200}
methods: {dsm: {sigma: 0.1}}
"""
KEY = ("dataset", "method", "label", "metric", "samples")
NUMBERS = ("value", "error", "n", "status", "verdict")

Rows = dict[tuple[str, ...], tuple[str, ...]]
"""What a row of `results.csv` says, by what it is about."""


@dataclass(frozen=True)
class Usage:
    """What a command took: seconds, core-seconds of it and all its descendants, and their peak memory in MiB."""

    wall: float
    cpu: float
    peak_mb: float


@dataclass(frozen=True)
class Clone:
    """A clone, the suite that is chosen in it, and an environment in which it stands alone."""

    root: Path
    suite: str
    env: dict[str, str]

    def run(self, *arguments: str, core: int | None = None, module: str = "ebmbench") -> Usage:
        """Run `python -m ebmbench …` here and measure it; an error ends the benchmark."""
        log = self.root.parent / "log"
        command = [sys.executable, "-m", module, *arguments]
        pinned = [] if core is None else ["--core", str(core)]
        measured = [sys.executable, str(PROCESS_TREE), "--log", str(log), *pinned, "--", *command]
        process = subprocess.Popen(measured, cwd=self.root, env=self.env, stdout=subprocess.PIPE, text=True)
        found = json.loads(_wait(process, f"{self.root.parent.name}: {module} {' '.join(arguments)}"))
        if found.pop("code") != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{log.read_text(errors='replace')[-2000:]}")
        return Usage(**found)

    def read_output(self, module: str, *arguments: str) -> str:
        """What a command prints; it is not measured."""
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, cwd=self.root, env=self.env, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def count_stages(self) -> int:
        """How many stages a run would run now."""
        return len(json.loads(self.read_output("ebmbench", "run", "--dry-run", "--json"))["stages"])

    def read_outcomes(self) -> dict[str, Any]:
        """Seconds and outcome of each stage of the last run."""
        stages: dict[str, Any] = json.loads((self.root / "work/flow/outcomes.json").read_text())["stages"]
        return stages

    def read_results(self) -> list[dict[str, str]]:
        """The rows of the report's `results.csv`."""
        file = self.root / "reports" / self.suite / "latest" / "results.csv"
        with file.open(newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))

    def read_numbers(self) -> Rows:
        """The numbers of all rows, without what a clock, the memory or the code's version gave."""
        return {tuple(row[c] for c in KEY): tuple(row[c] for c in NUMBERS) for row in self.read_results()}

    def read_work(self) -> float:
        """Seconds that all runs and baselines recorded for training, sampling and evaluating."""
        runs = {(row["dataset"], row["method"], row["label"]): row for row in self.read_results()}
        seconds = [row[c] for row in runs.values() for c in row if c.startswith("seconds_")]
        return sum(float(value) for value in seconds if value)


def _wait(process: "subprocess.Popen[str]", name: str) -> str:
    """Wait for a process and return its output; say now and then that it still runs."""
    waited = 0
    while True:
        try:
            return process.communicate(timeout=PATIENCE_SECONDS)[0]
        except subprocess.TimeoutExpired:
            waited += PATIENCE_SECONDS
            show_progress(f"{name}: runs for {waited} s")


def make_clone(folder: Path, revision: str, suite: str, overlay: str = TINY) -> Clone:
    """Clone a revision into the folder and choose a suite, which `overlay` describes if `suites/` lacks it.

    Data, caches and Prefect's files are the clone's own; the Python environment is that of this process.
    """
    folder.mkdir(parents=True)
    root = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root)], check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", revision], cwd=root, check=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DVC_", "PREFECT_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"DVC_SITE_CACHE_DIR": str(folder / "dvc"), "PREFECT_HOME": str(folder / "prefect")}
    env = inherited | own | {"PATH": path, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    if not (root / "suites" / f"{suite}.yaml").exists():
        (root / "suites" / f"{suite}.yaml").write_text(overlay, encoding="utf-8")
    use = [sys.executable, "-m", "ebmbench", "suite", "use", suite, "--force"]
    subprocess.run(use, cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)
    return Clone(root, suite, env)


def git(*arguments: str) -> str:
    """What Git prints; empty where it fails."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def find_commit(revision: str) -> str:
    """The commit of a revision of Git, or of a version of this project: the commit that wrote it in pyproject.toml."""
    if commit := git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"):
        return commit
    line = f'version = "{revision}"'
    if written := git("log", "--reverse", "--format=%H", f"-S{line}", "--", "pyproject.toml"):
        return written.splitlines()[0]
    raise SystemExit(f"{revision}: neither a revision of Git nor a released version")


def read_version(commit: str) -> str:
    """The project's version at a commit."""
    return str(tomllib.loads(git("show", f"{commit}:pyproject.toml"))["project"]["version"])


def find_last_release() -> str:
    """The newest version in CHANGELOG.md before the present one."""
    versions = re.findall(r"(?m)^## (\d[\w.]*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    return str(next(version for version in versions if version != read_version("HEAD")))


def name_revisions(against: str) -> dict[str, str]:
    """The older revision (the last release, if none is given) and the present commit, by their names in tables."""
    commits = [find_commit(against or find_last_release()), find_commit("HEAD")]
    if commits[0] == commits[1]:
        raise SystemExit(f"{against} is the present commit: compare with another")
    versions = [read_version(commit) for commit in commits]
    if versions[0] == versions[1]:
        versions = [f"{version} at {commit[:7]}" for version, commit in zip(versions, commits, strict=True)]
    return dict(zip(versions, commits, strict=True))


def describe_differences(a: Rows, b: Rows) -> str:
    """Whether two runs have the same numbers, in one sentence."""
    if a == b:
        return f"Both have the same numbers: all {len(a)} rows of `results.csv` are equal in {', '.join(NUMBERS)}."
    keys = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))
    example = f"{' '.join(filter(None, keys[0]))}: {a.get(keys[0])} and {b.get(keys[0])}"
    return f"**Numbers differ** in {len(keys)} of {len(a.keys() | b.keys())} rows of `results.csv`; {example}."

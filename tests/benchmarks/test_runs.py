"""Whole runs: what a process tree takes, which revisions are compared, and the tables. No run is started here."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.runs import clone, overhead, release
from benchmarks.runs.clone import TINY, Usage, describe_differences, find_commit, find_last_release, name_revisions
from benchmarks.runs.orchestration import ModeRun, render_modes
from benchmarks.runs.overhead import Overhead, describe_overhead, write_suite
from ebmbench.config.params import load_params
from ebmbench.config.suites import use

BUSY = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def measure(tmp_path: Path, code: str, *options: str) -> dict[str, float]:
    """Run code in a process of its own under `process_tree.py`."""
    command = [sys.executable, str(clone.PROCESS_TREE), "--log", str(tmp_path / "log"), *options, "--"]
    done = subprocess.run([*command, sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def test_time_of_children_and_of_orphans_counts(tmp_path: Path) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    assert measure(tmp_path, child)["cpu"] > 0.3
    orphan = child.replace("run(", "Popen(").replace("[sys", "start_new_session=True, args=[sys")
    found = measure(tmp_path, orphan)
    assert found["cpu"] > 0.3
    assert found["code"] == 0


def test_peak_memory_and_exit_code_are_those_of_the_command(tmp_path: Path) -> None:
    hold = "import sys, time; x = b'x' * 200_000_000; time.sleep(1.2); print('said'); sys.exit(3)"
    found = measure(tmp_path, hold, "--core", "0")
    assert 190 < found["peak_mb"] < 300
    assert found["code"] == 3
    assert (tmp_path / "log").read_text() == "said\n"


def test_the_command_is_stopped_with_the_measurement(tmp_path: Path) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    command = [
        sys.executable,
        str(clone.PROCESS_TREE),
        "--log",
        str(tmp_path / "log"),
        "--",
        sys.executable,
        "-c",
        code,
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (said := (tmp_path / "log").read_text() if (tmp_path / "log").exists() else ""):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait() != 0
    assert not psutil.pid_exists(int(said))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with versions 1.0, 1.1 (two commits) and 1.2."""
    monkeypatch.setattr(clone, "ROOT", tmp_path)
    clone.git("init", "--quiet")
    for number, version in enumerate(("1.0", "1.1", "1.1", "1.2")):
        (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\nnumber = {number}\n')
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
        clone.git("add", "-A")
        clone.git(*identity, "commit", "--quiet", "--message", f"{version} {number}")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2 (now)\n\n## 1.1 (before)\n\n## 1.0\n")
    return tmp_path


def test_a_version_is_the_commit_that_wrote_it(project: Path) -> None:
    assert clone.git("log", "-1", "--format=%s", find_commit("1.1")) == "1.1 1"
    assert clone.git("log", "-1", "--format=%s", find_commit("HEAD~1")) == "1.1 2"
    with pytest.raises(SystemExit, match=r"9\.9: neither"):
        find_commit("9.9")


def test_this_version_is_compared_with_the_release_before_it(project: Path) -> None:
    assert find_last_release() == "1.1"
    assert list(name_revisions("")) == ["1.1", "1.2"]
    with pytest.raises(SystemExit, match="present commit"):
        name_revisions("HEAD")


def test_differences_of_numbers_are_told() -> None:
    a = {("moons", "dsm", "seed=0", "kl", ""): ("0.1", "", "1", "ok", "ok")}
    assert describe_differences(a, dict(a)).startswith("Both have the same numbers: all 1 rows")
    b = {("moons", "dsm", "seed=0", "kl", ""): ("0.2", "", "1", "ok", "ok")}
    assert describe_differences(a, b).startswith("**Numbers differ** in 1 of 1 rows")


@pytest.mark.parametrize(("overlay", "stages"), [(TINY, 10), (write_suite(25), 25), (write_suite(300), 289)])
def test_the_suites_of_the_benchmarks_are_valid(overlay: str, stages: int, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites/defaults.yaml").write_bytes((root / "suites/defaults.yaml").read_bytes())
    name = overlay.partition("suite: ")[2].partition(",")[0]
    (tmp_path / f"suites/{name}.yaml").write_text(overlay)
    use(tmp_path, name)
    chosen = load_params(tmp_path).benchmark
    assert len(chosen.datasets) * (3 + 3 * len(chosen.methods)) + 1 == stages


def test_the_tables_of_runs_compare_both_versions() -> None:
    usages = {"0.1": Usage(100.0, 180.0, 1000.0), "0.2": Usage(50.0, 90.0, 500.0)}
    table = release.render_suite(usages, {"0.1": 45.0, "0.2": 45.0})
    assert "| core time, s | 180 | 90.0 | 0.50 |" in table
    assert "| share of core time that is work | 25% | 50% |  |" in table
    headline = release.make_headline(usages, "quick", 2, "the same numbers")
    assert "takes **0.50** of the time of 0.1 (2 jobs, 50.0 s against 100 s) and finds the same numbers" in headline
    times = {what: {"0.1": [10.0, 30.0, 20.0], "0.2": [5.0]} for what in (release.NOTHING, release.PLAN, release.EDIT)}
    edits = release.describe_edits(times, 3)
    assert "| edit to numbers | 20.0 (10.0–30.0) | 5.0 (5.0–5.0) | 0.25 |" in edits.text
    assert "5.0 s, **0.25** of 0.1" in edits.headline
    old, new = [Overhead(25, 4.0, 2.0)], [Overhead(25, 1.0, 1.0), Overhead(75, 1.5, 1.0)]
    section = describe_overhead({"0.1": old, "0.2": new})
    assert "| 25 | 4.00 | 1.00 | 0.25 | 2.00 | 1.00 | 0.50 |" in section.text
    assert "| 75 | – | 1.50 | – | – | 1.00 | – |" in section.text  # more stages than the older one has to run


class FakeClone:
    """A finished run of three stages of which one is the report."""

    def read_outcomes(self) -> dict[str, dict[str, float]]:
        return {"train@a": {"seconds": 5.0}, "sample@a": {"seconds": 5.0}, "report": {"seconds": 10.0}}

    def read_work(self) -> float:
        return 4.0


def test_overhead_is_what_remains_without_work_and_report() -> None:
    found = overhead.subtract_work(FakeClone(), Usage(20.0, 24.0, 1.0))
    assert found == Overhead(3, 5.0, 4.0)


def test_a_mode_with_other_numbers_or_stale_stages_stands_out() -> None:
    good = ModeRun(Usage(10.0, 12.0, 1.0), 11, 0.5, {("a",): ("1",)}, True)
    bad = ModeRun(Usage(10.0, 12.0, 1.0), 11, 0.5, {("a",): ("2",)}, False)
    lines = render_modes({"`dvc repro`": [good], "flow, 1 job": [bad]}).splitlines()
    assert lines[2].endswith("| 10.0 (10.0–10.0) | 12.0 (12.0–12.0) | 0.5 (0.5–0.5) | yes | clean |")
    assert lines[3].endswith("| **no** | **stale** |")


def test_work_is_counted_once_for_each_run(tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "tiny" / "latest"
    folder.mkdir(parents=True)
    head = "dataset,method,label,metric,samples,value,error,n,status,verdict,digest,seconds_train,seconds_sample"
    rows = [
        "a,dsm,seed=0,kl,,0.1,,1,ok,ok,x,2.5,1",
        "a,dsm,seed=0,mmd,,0.2,,1,ok,ok,x,2.5,1",
        "a,oracle,0,kl,,0,,1,ok,ok,y,,",
    ]
    (folder / "results.csv").write_text("\n".join([head, *rows]) + "\n")
    run = clone.Clone(tmp_path, "tiny", {})
    assert run.read_work() == 3.5
    assert len(run.read_numbers()) == 3

"""What a person sees while stages run: on a terminal, in a log, and in words."""

import contextlib
import io
import json
import os
import re
import time
from pathlib import Path
from threading import Thread

import pytest

from ebmbench.workspace.progress import Progress as Writer
from pipelines import display as module
from pipelines.display import StageProgress, numbers_reader, progress_file, progress_reader, show_progress
from pipelines.outcome import BLOCKED, FAILED, RAN, Outcome
from pipelines.planning.plan import Plan, Stage

PLAN = Plan(tuple(Stage(name, (), "never run") for name in ("train@a", "train@b", "evaluate@b", "report")))
FAILURE = Outcome(FAILED, seconds=2.0, log="work/flow/logs/train@b.log")
TRAINING = StageProgress(2, 3, share=0.5, step=1200, ends=None)


def on_a_terminal() -> str:
    """Two stages run, one of them tells how far it is, the other fails; all that the terminal got, without colours."""
    master, slave = os.openpty()
    got: list[bytes] = []
    reader = Thread(target=_read, args=(master, got))
    reader.start()
    with os.fdopen(slave, "w") as stream, show_progress(PLAN, "2 at a time", {"train@a": TRAINING}.get, stream) as show:
        for stage in PLAN.todo[:2]:
            show(stage, None)
        time.sleep(1.5)
        show(PLAN.todo[1], FAILURE)
        show(PLAN.todo[2], Outcome(BLOCKED, cause="train@b"))
    reader.join()
    os.close(master)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(got).decode())


def _read(master: int, got: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # the other end was closed
        while text := os.read(master, 4096):
            got.append(text)


def test_a_terminal_shows_what_is_done_what_runs_how_far_it_is_and_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    shown = on_a_terminal()
    assert "run 2 of 3, step 1200, 50 %" in shown
    assert "2/4, 1 failed, 1 blocked" in shown
    assert "train@b failed, 2.0 s, see work/flow/logs/train@b.log" in shown
    last = shown[shown.rindex("all stages") :]
    assert "train@a" in last
    assert "train@b" not in last


def test_the_numbers_of_a_cell_are_shown_when_it_was_evaluated(tmp_path: Path) -> None:
    benchmark = "{suite: s, datasets: [a, b], methods: [dsm], metrics: [kl, fisher, ess, mmd]}"
    (tmp_path / "params.yaml").write_text(f"benchmark: {benchmark}\n")
    folder = tmp_path / "runs/s/a/dsm"
    folder.mkdir(parents=True)
    runs: dict[str, dict[str, object]] = {"seed=0": {"kl": 0.1, "fisher": None, "ess": 12}, "seed=1": {"kl": 0.2}}
    (folder / "metrics.json").write_text(json.dumps(runs))
    read = numbers_reader(tmp_path)
    assert read("evaluate@a-dsm") == "kl 0.15 (0.1 to 0.2), ess 12"
    assert [read(stage) for stage in ("train@a-dsm", "evaluate@b-dsm", "evaluate@other", "report")] == [""] * 4
    images = {"seed=0": {"kl": None, "short": {"fid_ratio": 2.0}, "long": {"fid_ratio": 1.5, "fid": 9.0}}}
    (folder / "metrics.json").write_text(json.dumps(images))
    assert read("evaluate@a-dsm") == "short.fid_ratio 2, long.fid_ratio 1.5"
    (folder / "metrics.json").write_text(json.dumps({"t=1/seed=0": {"kl": 3.14159}, "t=2/seed=0": {}}))
    assert read("evaluate@a-dsm") == "t=1: kl 3.14; t=2: no value"
    stage = Stage("evaluate@a-dsm", (), "new")
    stream = io.StringIO()
    with show_progress(Plan((stage,)), "1 at a time", lambda stage: None, stream, read) as show:
        show(stage, None)
        show(stage, Outcome(RAN, seconds=1.0))
    assert stream.getvalue().endswith("[1/1] evaluate@a-dsm ran, 1.0 s: t=1: kl 3.14; t=2: no value\n")


def test_a_log_gets_a_line_now_and_then_about_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(module, "_LINE_SECONDS", 1.2)
    with show_progress(PLAN, "1 at a time", {"train@a": TRAINING}.get, stream) as show:
        show(PLAN.todo[0], None)
        time.sleep(2.6)
        show(PLAN.todo[0], Outcome(RAN, seconds=2.6))
    assert stream.getvalue().splitlines() == [
        "4 stages to bring up to date, 1 at a time",
        "start train@a (never run)",
        "train@a has run for 0:02: run 2 of 3, step 1200, 50 %",
        "[1/4] train@a ran, 2.6 s",
    ]


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (StageProgress(1, 1), ""),
        (StageProgress(2, 3), "run 2 of 3"),
        (StageProgress(1, 1, 0.434, 1200, 1075.0), "step 1200, 43 %, 1:15 left"),
        (StageProgress(2, 2, 0.5, 10, 1000.0 + 3700), "run 2 of 2, step 10, 75 %, 1:01:40 left"),
        (StageProgress(2, 2, 0.5, 10, 900.0), "run 2 of 2, step 10, 75 %, 0:00 left"),
    ],
)
def test_progress_is_described_as_far_as_it_is_known(progress: StageProgress, words: str) -> None:
    assert progress.describe(now=1000.0) == words


def test_the_progress_of_a_stage_is_read_while_it_runs_and_removed_after(tmp_path: Path) -> None:
    read = progress_reader(tmp_path)
    with progress_file(tmp_path, "train@a") as path:
        assert read("train@a") is None
        for _ in Writer(str(path)).each([1, 2]):
            pass
        assert read("train@a") == StageProgress(2, 2)
        path.write_text('{"run": 1, "walks": 2}', encoding="utf-8")
        assert read("train@a") is None
    assert not path.exists()

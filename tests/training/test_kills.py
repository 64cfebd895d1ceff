"""Whatever stops a run, and however often, it goes on from a whole checkpoint and ends with the same bytes."""

import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ebmbench.config.registry import load
from ebmbench.core import checkpoint
from ebmbench.methods.common.adversary import AdversarySettings
from ebmbench.training.checkpoints import NEWEST, PREVIOUS
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.workspace.files import read_json, sweep_parts
from ebmbench.workspace.store import Store
from tests.conftest import real_methods
from tests.training import kills
from tests.training.test_divergence import diverging
from tests.training.test_resume import DATA, LABELS, job


def small(method: str, policy: str = "record", budget: int = 20_000) -> Job:
    one = job(method, budget=budget)
    return replace(one, training=one.training.model_copy(update={"on_divergence": policy}))


def whole(one: Job, folder: Path) -> dict[str, bytes]:
    train(one, DATA, folder / "work", folder, labels=LABELS)
    return kills.contents(folder)


@pytest.mark.parametrize("method", real_methods())
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(tmp_path: Path, method: str) -> None:
    one = small(method, budget=10_000)
    expected = whole(one, tmp_path / "whole")
    found = kills.stumble(one, DATA, tmp_path / "killed", random.Random(method), falls=3, labels=LABELS)
    assert kills.contents(found) == expected


@pytest.mark.slow
@pytest.mark.parametrize("method", real_methods())
def test_so_it_does_wherever_it_is_killed(tmp_path: Path, method: str) -> None:
    expected = whole(small(method), tmp_path / "whole")
    for seed in range(30):
        dice = random.Random(f"{method} {seed}")
        found = kills.stumble(small(method), DATA, tmp_path / str(seed), dice, dice.randrange(1, 6), LABELS)
        assert kills.contents(found) == expected, seed


def test_a_run_that_is_restarted_after_a_divergence_may_be_killed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverging(monkeypatch, times=2, step=60)
    expected = whole(small("nce", "restart"), tmp_path / "whole")
    assert read_json(tmp_path / "whole" / "status.json")["restarts"] == 2
    for seed in range(4):
        found = kills.stumble(small("nce", "restart"), DATA, tmp_path / str(seed), random.Random(seed), falls=4)
        assert kills.contents(found) == expected


@pytest.mark.parametrize("damaged", [NEWEST, PREVIOUS, "healthy-*", "*"])
def test_any_file_of_the_workshop_may_be_cut_short(tmp_path: Path, damaged: str) -> None:
    expected = whole(small("dsm"), tmp_path / "whole")
    work = tmp_path / "work"
    with pytest.raises(kills.Killed), kills.killed_at(200):
        train(small("dsm"), DATA, work, tmp_path / "killed", save_every=0.0)
    assert len(list(work.glob("healthy-*"))) == 2
    hit = list(work.glob(damaged))
    assert hit
    for path in hit:
        os.truncate(path, path.stat().st_size - 1)
    train(small("dsm"), DATA, work, tmp_path / "result")
    assert kills.contents(tmp_path / "result") == expected


def test_if_the_newest_checkpoint_is_cut_short_the_one_before_is_gone_on_with(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with pytest.raises(kills.Killed), kills.killed_at(150):
        train(small("nce"), DATA, work, tmp_path / "killed", save_every=0.0)
    before = checkpoint.load(work / PREVIOUS)[1]["step"]
    os.truncate(work / NEWEST, 100)
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ebmbench.training.run._spend", lambda trainer, *_: seen.append(trainer.step))
        train(small("nce"), DATA, work, tmp_path / "result")
    assert seen == [before]
    assert before > 0


@contextmanager
def no_room_beyond(size: int) -> Iterator[None]:
    """No file may grow beyond a size, as on a disk that is nearly full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_checkpoint_that_finds_no_room_stops_the_run_and_spoils_nothing(tmp_path: Path) -> None:
    expected = whole(small("mle"), tmp_path / "whole")
    work = tmp_path / "work"
    with pytest.raises(kills.Killed), kills.killed_at(40):
        train(small("mle"), DATA, work, tmp_path / "killed", save_every=0.0)
    there = {path: path.read_bytes() for path in work.iterdir()}
    with pytest.raises(OSError, match="too large"), no_room_beyond(5000):
        train(small("mle"), DATA, work, tmp_path / "full", save_every=0.0)
    assert set(work.glob(".*")) == set()
    assert any(path.exists() and path.read_bytes() == content for path, content in there.items())
    train(small("mle"), DATA, work, tmp_path / "result")
    assert kills.contents(tmp_path / "result") == expected


def test_what_a_dead_process_was_writing_is_swept_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    mine, theirs = (tmp_path / f".checkpoint.safetensors.{pid}.part" for pid in (os.getpid(), dead.pid))
    for path in (mine, theirs):
        path.write_bytes(b"half")
    (tmp_path / f"part-{dead.pid}").mkdir()
    sweep_parts(tmp_path)
    assert list(tmp_path.iterdir()) == [mine]


@pytest.mark.parametrize("file", ["done/a.bin", "files.json"])
def test_a_finished_result_that_was_cut_short_is_made_anew(tmp_path: Path, file: str) -> None:
    def make(_: Path, result: Path) -> None:
        (result / "a.bin").write_bytes(b"whole")

    Store(tmp_path).obtain("key", make)
    os.truncate(tmp_path / "key" / file, 2)
    assert (Store(tmp_path).obtain("key", make) / "a.bin").read_bytes() == b"whole"


@pytest.fixture(scope="module")
def victims() -> Iterator[kills.Victims]:
    with kills.Victims() as running:
        yield running


TWO_PLAYERS = [name for name in real_methods() if issubclass(load("methods", name).Settings, AdversarySettings)]
FEW = [(method, 1) for method in TWO_PLAYERS]
MANY = [pytest.param(method, 30, marks=pytest.mark.slow) for method in real_methods()]


@pytest.mark.parametrize(("method", "least"), FEW + MANY)
def test_a_real_kill_9_at_random_moments_costs_nothing(
    tmp_path: Path, victims: kills.Victims, method: str, least: int
) -> None:
    """A second player has weights and moments of its own to lose, so these methods are killed by default."""
    _, seconds = victims.train(method, tmp_path)
    expected = kills.contents(tmp_path / "result")
    dice, killed = random.Random(method), 0
    while killed < least:
        folder = tmp_path / f"after {killed}"
        killed += victims.finish(method, folder, dice, seconds)
        assert kills.contents(folder / "result") == expected
        assert set(folder.glob("work/.*")) == set()

"""DVC's table of locks after a crash: entries of dead processes go, those of living ones still block."""

import json
import os
import subprocess
from pathlib import Path

import psutil
import pytest

from ebmbench.errors import UserError
from pipelines.execution.dvc import _is_call, run_dvc


@pytest.mark.slow
@pytest.mark.parametrize("table", [b'{"write": {', b"[]", b"\xff\xff", b'{"read": {"runs": 7}}'])
def test_an_unreadable_table_of_locks_is_repaired(done: Path, table: bytes) -> None:
    (done / ".dvc/tmp/rwlock").write_bytes(table)
    assert run_dvc(done, "status", "--json", patience=0).strip() == "{}"


@pytest.mark.parametrize("kind", ["write", "read"])
def test_the_lock_of_a_dead_process_whose_number_another_has_does_not_block(done: Path, kind: str) -> None:
    with subprocess.Popen(["sleep", "100"]) as other:
        note_lock(done, kind, other.pid, "/usr/bin/dvc repro")
        try:
            reproduced = run_dvc(done, "repro", "--single-item", "--force", "train@rings-dsm", patience=0)
        finally:
            other.kill()
    assert "Running stage 'train@rings-dsm'" in reproduced
    assert str(other.pid) not in (done / ".dvc/tmp/rwlock").read_text()


@pytest.mark.parametrize("cmd", ["sleep 100", ""])
def test_a_lock_blocks_while_the_process_with_its_number_may_be_its_owner(done: Path, cmd: str) -> None:
    with subprocess.Popen(["sleep", "100"]) as other:
        note_lock(done, "write", other.pid, cmd)
        try:
            with pytest.raises(UserError, match=f"another dvc command is at work.*{other.pid}"):
                run_dvc(done, "status", "--json", patience=0)
        finally:
            other.kill()
    assert run_dvc(done, "status", "--json", patience=0).strip() == "{}"


def test_a_lock_without_a_command_that_is_older_than_its_process_does_not_block(done: Path) -> None:
    note_lock(done, "write", os.getpid(), "")
    long_ago = psutil.Process().create_time() - 60
    os.utime(done / ".dvc/tmp/rwlock", (long_ago, long_ago))
    assert run_dvc(done, "repro", "--single-item", "train@rings-dsm", patience=0)


@pytest.mark.parametrize(
    ("cmd", "words", "same"),
    [
        ("/v/bin/dvc repro a", ["/v/bin/python", "/v/bin/dvc", "repro", "a"], True),
        ("/v/my lib/dvc/__main__.py repro a", ["/v/my lib/python", "-m", "dvc", "repro", "a"], True),
        ("/v/dvc/__main__.py repro a", ["python", "-mdvc", "repro", "a"], True),
        ("/opt/dvc/dvc repro", ["dvc", "repro"], True),
        ("/v/bin/dvc repro a", ["/v/bin/python", "/v/bin/dvc", "repro", "b"], False),
        ("/v/bin/dvc repro report", ["less", "report"], False),
        ("/v/bin/dvc repro", ["/v/bin/python", "/v/bin/dvc", "repro", "a"], False),
        ("/v/bin/dvc repro", [], False),
    ],
)
def test_a_process_is_recognised_by_its_command_line(cmd: str, words: list[str], same: bool) -> None:
    assert _is_call(cmd, words) == same


def note_lock(root: Path, kind: str, pid: int, cmd: str) -> None:
    """Leave the entry of a process that wrote or read a cell's model in DVC's table."""
    entry = {"pid": pid, "cmd": cmd}
    path = str(root / "runs/tiny/rings/dsm/train")
    (root / ".dvc/tmp/rwlock").write_text(json.dumps({kind: {path: entry if kind == "write" else [entry]}}))

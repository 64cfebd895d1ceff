"""A process whose reader has gone works on, and ends as it would have ended."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PROGRAM = """
import subprocess, sys
from ebmbench.errors import make_console_safe
make_console_safe()
print("first", flush=True)
sys.stdin.readline()
for stream in (sys.stdout, sys.stderr):
    print("second " * 10_000, file=stream, flush=True)
    print("third", file=stream)
subprocess.run(["/bin/sh", "-c", "echo heard by nobody"], check=True)
open(sys.argv[1], "w").write("all done")
sys.exit(3)
"""
Ends = tuple[int, int]  # the reader's, the writer's


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("channel", [os.pipe, os.openpty])
def test_work_goes_on_without_a_reader(tmp_path: Path, channel: Callable[[], Ends], unbuffered: str) -> None:
    reader, writer = channel()
    env = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "done")]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=writer, stderr=writer) as process:
        os.close(writer)
        assert os.read(reader, 5) == b"first"
        os.close(reader)
        process.communicate(b"\n", timeout=20)
    assert process.returncode == 3
    assert (tmp_path / "done").read_text() == "all done"


@pytest.mark.parametrize("ending", ["| head -n 1", ">&-"])
def test_a_short_command_without_a_reader_ends_quietly(ending: str) -> None:
    shell = f'"{sys.executable}" -m ebmbench list {ending}'
    done = subprocess.run(["/bin/sh", "-c", shell], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout in ("methods\n", "")
    assert done.stderr == ""


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ebmbench", "list"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, cwd=PROJECT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: No space left on device (--debug shows where)\n")

"""Arrays on a disk that is full: an error, never a short file."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ebmbench.workspace.files import save_array

SAVE = "import sys, numpy as np; from pathlib import Path; from ebmbench.workspace.files import save_array; "
SAVE += "save_array(Path(sys.argv[1]), np.arange(400.0))"


@pytest.mark.parametrize(
    "rows", [np.arange(6).reshape(2, 3), np.zeros((0, 2)), np.asfortranarray(np.eye(3)), np.ones(())]
)
def test_the_bytes_are_those_of_numpy(tmp_path: Path, rows: np.ndarray) -> None:
    save_array(tmp_path / "ours.npy", rows)
    np.save(tmp_path / "theirs.npy", rows)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


def test_a_write_that_finds_no_room_fails_and_leaves_what_was_there(tmp_path: Path) -> None:
    save_array(tmp_path / "x.npy", np.arange(3))
    before = (tmp_path / "x.npy").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", SAVE, tmp_path / "x.npy"],
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert done.returncode == 1
    assert b"File too large" in done.stderr
    assert (tmp_path / "x.npy").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]

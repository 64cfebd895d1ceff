"""Files are whole or not there; checkpoints are what they say; results are found by their digest."""

from pathlib import Path

import pytest
import torch

from ebmbench.core import checkpoint
from ebmbench.errors import UserError
from ebmbench.workspace.files import copy_folder, read_json, replacing, write_json, write_text
from ebmbench.workspace.store import Store, digest


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def write_half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_json_refuses_what_is_not_a_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"kl": float("nan")})
    assert not (tmp_path / "a.json").exists()


def test_a_copied_folder_shares_nothing_with_its_source(tmp_path: Path) -> None:
    write_text(tmp_path / "a" / "x", "1")
    copy_folder(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / "x").write_text("2")
    assert (tmp_path / "a" / "x").read_text() == "1"


def test_a_checkpoint_comes_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, {"model.w": torch.arange(3.0)}, {"step": 7})
    tensors, header = checkpoint.load(path)
    assert torch.equal(checkpoint.select_prefix("model", tensors)["w"], torch.arange(3.0))
    assert header == {"step": 7}


@pytest.mark.parametrize("keep", [0, 5, 60, -4])
def test_a_truncated_checkpoint_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, {"w": torch.zeros(100)}, {})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match="not a whole safetensors file"):
        checkpoint.load(path)


def test_a_result_is_made_once_and_found_again(tmp_path: Path) -> None:
    made = []

    def make(workshop: Path, result: Path) -> None:
        made.append(1)
        write_text(workshop / "checkpoint.safetensors", "half-way")
        write_text(result / "x", "1")

    for _ in range(2):
        done = Store(tmp_path).obtain("key", make)
    assert (done / "x").read_text() == "1"
    assert made == [1]
    assert not (tmp_path / "key" / "checkpoint.safetensors").exists()
    Store(tmp_path, fresh=True).obtain("key", make)
    assert made == [1, 1]


def test_a_result_that_fails_half_way_is_not_finished_but_its_checkpoint_stays(tmp_path: Path) -> None:
    def fail(workshop: Path, result: Path) -> None:
        write_text(workshop / "checkpoint", "half-way")
        write_text(result / "x", "1")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        Store(tmp_path).obtain("key", fail)
    assert not Store(tmp_path).done("key").exists()
    assert (tmp_path / "key" / "checkpoint").read_text() == "half-way"


@pytest.mark.parametrize("file", ["done/kl.json", "done/more", "files.json"])
def test_a_result_with_another_content_or_without_its_list_is_made_anew(tmp_path: Path, file: str) -> None:
    def make(_: Path, result: Path) -> None:
        write_text(result / "kl.json", "0.01")
        write_text(result / "more", "1")

    Store(tmp_path).obtain("key", make)
    path = tmp_path / "key" / file
    path.unlink() if file == "files.json" else path.write_text("9.01"[: len(path.read_text())])
    done = Store(tmp_path).obtain("key", make)
    assert (done / "kl.json").read_text() == "0.01"
    assert (done / "more").read_text() == "1"


def test_a_file_of_the_users_beside_a_result_is_neither_taken_for_it_nor_removed(tmp_path: Path) -> None:
    def make(workshop: Path, result: Path) -> None:
        write_text(workshop / "checkpoint.safetensors", "half-way")
        write_text(result / "x", "1")

    write_text(tmp_path / "key" / "mine.txt", "mine")
    done = Store(tmp_path).obtain("key", make)
    assert (tmp_path / "key" / "mine.txt").read_text() == "mine"
    write_text(done / "mine.txt", "mine")
    with pytest.raises(UserError, match=r"done/mine\.txt: not written by ebmbench"):
        Store(tmp_path).obtain("key", make)
    assert (done / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("body", [b"", b'{"label": "seed', b"\xff\xfe", b"[" * 100_000])
def test_json_that_is_damaged_is_named(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "a.json").write_bytes(body)
    with pytest.raises(UserError, match=r"a\.json: damaged, no whole JSON"):
        read_json(tmp_path / "a.json")


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1}) != digest({"a": 1, "b": [3]})

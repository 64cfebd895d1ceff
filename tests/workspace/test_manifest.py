"""The list of an output folder: what is ours and may go, and what is the user's and stays."""

import json
from pathlib import Path

import pytest

from ebmbench.errors import UserError
from ebmbench.workspace.files import write_text
from ebmbench.workspace.manifest import (
    MANIFEST,
    SAMPLED,
    TRAINED,
    foreign_files,
    hashes,
    materialising,
    require_no_foreign_files,
)


def fill(target: Path) -> Path:
    with materialising(target, TRAINED) as folder:
        write_text(folder / "seed=0" / "status.json", "{}")
        write_text(folder / "seed=0" / "model.safetensors", "weights")
    return target


def test_a_folder_comes_with_a_list_that_is_the_same_bytes_for_the_same_files(tmp_path: Path) -> None:
    one, two = fill(tmp_path / "a" / "train"), fill(tmp_path / "b" / "train")
    assert (one / MANIFEST).read_bytes() == (two / MANIFEST).read_bytes()
    listed = json.loads((one / MANIFEST).read_text())
    assert listed == {name: value for name, value in hashes(one).items() if name != MANIFEST}
    assert set(listed) == {"seed=0/status.json", "seed=0/model.safetensors"}
    assert foreign_files(one, TRAINED) == []


def test_a_file_that_the_list_does_not_know_is_the_users_whatever_its_name(tmp_path: Path) -> None:
    train = fill(tmp_path / "train")
    for name in ("seed=9/model.safetensors", "notes.txt"):
        write_text(train / name, "mine")
    assert foreign_files(train, TRAINED) == ["notes.txt", "seed=9/model.safetensors"]
    with pytest.raises(UserError, match=r"train/notes\.txt \(and 1 more\): not written by ebmbench.*move it elsewhere"):
        fill(train)
    assert (train / "notes.txt").read_text() == "mine"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("manifest", [None, "", "[1]", '{"a": 1}'])
def test_without_a_list_the_names_decide(tmp_path: Path, manifest: str | None) -> None:
    train = fill(tmp_path / "train")
    (train / MANIFEST).unlink()
    if manifest is not None:
        (train / MANIFEST).write_text(manifest)
    write_text(train / "interval=5" / "sampler=mala" / "seed=1" / "snapshot-12.safetensors", "")
    assert foreign_files(train, TRAINED) == []
    write_text(train / "seed=0-backup" / "model.safetensors", "mine")
    assert foreign_files(train, TRAINED) == ["seed=0-backup/model.safetensors"]


def test_what_a_kill_left_half_written_is_ours(tmp_path: Path) -> None:
    train = fill(tmp_path / "train")
    for name in ("seed=0/.status.json.77.part", "seed=0/.Zm9vYmFyZm9vYmFyZm9vYm.tmp", ".DS_Store"):
        write_text(train / name, "")
    require_no_foreign_files(train, TRAINED)


def test_a_link_is_a_file_and_is_not_followed(tmp_path: Path) -> None:
    write_text(tmp_path / "mine" / "long.npy", "mine")
    (tmp_path / "sample" / "seed=0").mkdir(parents=True)
    (tmp_path / "sample" / "seed=1").symlink_to(tmp_path / "mine")
    assert foreign_files(tmp_path / "sample", SAMPLED) == ["seed=1"]


def test_a_folder_that_fails_half_way_leaves_the_old_one_and_no_rest(tmp_path: Path) -> None:
    before = hashes(fill(tmp_path / "train"))

    def fail() -> None:
        with materialising(tmp_path / "train", TRAINED) as folder:
            write_text(folder / "seed=1" / "status.json", "{}")
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        fail()
    assert hashes(tmp_path / "train") == before
    assert [path.name for path in tmp_path.iterdir()] == ["train"]

"""CelebA: from the archive or the folder, cropped and resized, by the official split."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from ebmbench.data import celeba
from ebmbench.errors import UserError
from tests.data.originals import files, write_celeba

pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def pack(folder: Path) -> None:
    shutil.make_archive(str(folder / "img_align_celeba"), "zip", folder, "img_align_celeba")
    shutil.rmtree(folder / "img_align_celeba")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("layout", [".", "celeba"])
def test_archive_and_folder_give_the_split_of_the_list(tmp_path: Path, layout: str, packed: bool) -> None:
    photographs = write_celeba(tmp_path / layout)
    if packed:
        pack(tmp_path / layout)
    images = celeba.images(files("celeba", tmp_path))
    assert images.train.shape == images.test.shape == (4, 3, 32, 32)
    assert images.train_labels is None
    for rows, first in [(images.train, 0), (images.test, 2)]:
        for row, photograph in zip(rows, photographs[first::3], strict=True):
            centre = photograph[39:179, 19:159].transpose(2, 0, 1)  # 140×140 of 218×178
            assert abs(float(row.float().mean()) - centre.mean()) < 1.5
            small, corner = row[:, :8, :8].float().mean().item(), centre[:, :35, :35].mean()
            assert abs(small - corner) < 5


def test_the_larger_images_are_64_by_64(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    assert celeba.images_64(files("celeba", tmp_path)).train.shape == (4, 3, 64, 64)


def test_only_wanted_photographs_are_opened(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    chosen = celeba.images(files("celeba", tmp_path, train=2))
    for photograph in (tmp_path / "img_align_celeba").iterdir():
        if int(photograph.stem) % 3 == 2:  # validation
            photograph.unlink()
    np.testing.assert_array_equal(celeba.images(files("celeba", tmp_path, train=2)).train, chosen.train)


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_a_damaged_photograph_is_named(tmp_path: Path, damage: str) -> None:
    write_celeba(tmp_path)
    photograph = tmp_path / "img_align_celeba" / "000004.jpg"
    body = photograph.read_bytes()
    photograph.unlink()
    if damage == "short":
        photograph.write_bytes(body[: len(body) // 2])
    with pytest.raises(UserError, match=r"000004\.jpg is missing or damaged"):
        celeba.images(files("celeba", tmp_path))


def test_a_short_archive_is_one_line(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    pack(tmp_path)
    archive = tmp_path / "img_align_celeba.zip"
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(UserError, match="not a whole archive"):
        celeba.images(files("celeba", tmp_path))


def test_a_broken_list_is_one_line(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    (tmp_path / "list_eval_partition.txt").write_text("000001.jpg zero\n")
    with pytest.raises(UserError, match="not whole lists"):
        celeba.images(files("celeba", tmp_path))


def test_lists_are_checked(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    with pytest.raises(UserError, match=r"list_attr_celeba\.txt: damaged .*expected 75e246fa"):
        celeba.images(files("celeba", tmp_path, verify=True))

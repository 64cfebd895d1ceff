"""Files that torch wrote are read bit for bit in both of its formats; files that were changed are refused in words."""

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.core.pickles import NotPlain
from ebmbench.features import weights
from ebmbench.features.weights import Storage, View, read_weights

FORMATS = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "older"])


def saved(path: Path, value: Any, zipped: bool) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=zipped)
    return path


def every_kind() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    whole = torch.randn(6, 5, generator=generator)
    kinds = {str(dtype): (100 * whole).to(dtype) for dtype in weights.TYPES.values()}
    views = {"part": whole[1:4, 2:], "turned": whole.T, "scalar": torch.tensor(7), "none": torch.empty(0, 3)}
    return kinds | views | {"odd": torch.tensor([torch.nan, torch.inf, -0.0, 1e-45])}


def same_bits(a: Tensor, b: Tensor) -> bool:
    bits = [one.contiguous().reshape(-1).view(torch.uint8) for one in (a, b)]
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(*bits)


@FORMATS
@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_every_tensor_is_read_bit_for_bit(tmp_path: Path, zipped: bool, kind: Callable[..., Any]) -> None:
    given = every_kind()
    found = read_weights(saved(tmp_path / "a.pth", kind(given), zipped))
    assert list(found) == list(given)
    assert [name for name in given if not same_bits(found[name], given[name])] == []


@FORMATS
def test_the_state_of_a_network_is_read(tmp_path: Path, zipped: bool) -> None:
    with torch.random.fork_rng():
        state = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).state_dict()
    found = read_weights(saved(tmp_path / "a.pth", state, zipped))
    assert all(same_bits(found[name], state[name]) for name in state)


class Trap:
    """What a malicious file would hold: code that runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path("trapped").touch, ())


@FORMATS
def test_code_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotPlain, match="refused: the pickle asks for"):
        read_weights(saved(tmp_path / "trap.pth", {"a": torch.ones(2), "b": Trap()}, zipped))
    assert not (tmp_path / "trapped").exists()


@FORMATS
@pytest.mark.parametrize("value", [torch.ones(2), [torch.ones(2)], {"a": 1}, {1: torch.ones(2)}, {"a": {}}])
def test_anything_but_tensors_by_name_is_refused(tmp_path: Path, zipped: bool, value: Any) -> None:
    with pytest.raises(NotPlain, match="other things than tensors by name"):
        read_weights(saved(tmp_path / "a.pth", value, zipped))


@FORMATS
def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path, zipped: bool) -> None:
    body = saved(tmp_path / "a.pth", {"a": torch.ones(3), "b": torch.ones(2)}, zipped).read_bytes()
    for length in range(len(body)):
        (tmp_path / "b.pth").write_bytes(body[:length])
        with pytest.raises(NotPlain):
            read_weights(tmp_path / "b.pth")


@FORMATS
def test_a_file_with_any_byte_changed_is_read_or_refused(tmp_path: Path, zipped: bool) -> None:
    """Never another exception; and in an archive, whose members have sums, never other numbers."""
    body = saved(tmp_path / "a.pth", {"a": torch.ones(3)}, zipped).read_bytes()
    for place in range(len(body)):
        (tmp_path / "b.pth").write_bytes(body[:place] + bytes([body[place] ^ 0x55]) + body[place + 1 :])
        try:
            found = read_weights(tmp_path / "b.pth")
        except NotPlain:
            continue
        assert not zipped or torch.equal(found["a"], torch.ones(3))


@pytest.mark.parametrize(
    ("offset", "size", "stride", "words"),
    [
        (0, (7,), (1,), "beyond its storage"),
        (4, (3,), (1,), "beyond its storage"),
        (0, (2, 2), (5, 1), "beyond its storage"),
        (0, (1 << 40,), (0,), "lie in each other"),
        (0, (3, 3), (1, 1), "lie in each other"),
        (0, (2, 3), (2, 1), "lie in each other"),
        (-1, (2,), (1,), "size"),
        (0, (-2,), (1,), "size"),
        (5, (2,), (-1,), "size"),
        (0, (2, 2), (1,), "size"),
        (0, (2.0,), (1,), "size"),
        (True, (2,), (1,), "size"),
    ],
)
def test_a_view_must_lie_in_its_storage(
    offset: int, size: tuple[int, ...], stride: tuple[int, ...], words: str
) -> None:
    with pytest.raises(NotPlain, match=words):
        View(Storage("0", torch.float32, 6), offset, size, stride).length()


class Storages(pickle.Pickler):
    """Writes `Storage`s and `View`s as torch writes what they stand for, and so whatever a test makes of them."""

    def persistent_id(self, obj: Any) -> Any:
        return ("storage", torch.FloatStorage, obj.key, "cpu", obj.length) if isinstance(obj, Storage) else None

    def reducer_override(self, obj: Any) -> Any:
        rebuild = torch._utils._rebuild_tensor_v2
        return (rebuild, (*obj, False, OrderedDict())) if isinstance(obj, Made) else NotImplemented


class Made(View):
    """A `View` that pickle does not take for a plain tuple."""


def archive(path: Path, views: dict[str, Made], bodies: dict[str, bytes], **how: Any) -> Path:
    file = io.BytesIO()
    Storages(file, protocol=2).dump(views)
    members = {"data.pkl": file.getvalue(), "byteorder": b"little", "version": b"3\n"}
    members |= {f"data/{key}": body for key, body in bodies.items()}
    with zipfile.ZipFile(path, "w", **how) as target:
        for name, body in members.items():
            target.writestr(f"archive/{name}", body)
    return path


def view(length: int = 3, size: int = 3) -> Made:
    return Made(Storage("0", torch.float32, length), 0, (size,), (1,))


def test_our_own_archives_are_what_torch_reads(tmp_path: Path) -> None:
    file = archive(tmp_path / "a.pth", {"a": view()}, {"0": bytes(12)})
    assert torch.equal(torch.load(file)["a"], torch.zeros(3))
    assert torch.equal(read_weights(file)["a"], torch.zeros(3))


@pytest.mark.parametrize(
    ("views", "bodies", "words"),
    [
        ({"a": view(3)}, {"0": bytes(11)}, "11 bytes for a storage of 3"),
        ({"a": view(1 << 50, 1 << 50)}, {"0": bytes(12)}, "larger than the file"),
        ({"a": view()}, {}, "no item named"),
        ({str(i): view(100, 100) for i in range(999)}, {"0": bytes(400)}, "larger than the file"),
        ({"a": Made(Storage("../data.pkl", torch.float32, 3), 0, (3,), (1,))}, {"0": bytes(12)}, "no item named"),
    ],
)
def test_a_storage_must_be_what_it_is_said_to_be(
    tmp_path: Path, views: dict[str, Made], bodies: dict[str, bytes], words: str
) -> None:
    with pytest.raises(NotPlain, match=words):
        read_weights(archive(tmp_path / "a.pth", views, bodies))


def test_an_archive_that_unpacks_to_more_than_itself_is_refused(tmp_path: Path) -> None:
    how = {"compression": zipfile.ZIP_DEFLATED}
    with pytest.raises(NotPlain, match="unpacks to more than its own size"):
        read_weights(archive(tmp_path / "a.pth", {"a": view(1 << 18, 1 << 18)}, {"0": bytes(1 << 20)}, **how))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "LARGEST", 100)
    with pytest.raises(NotPlain, match="more than 100 bytes"):
        read_weights(saved(tmp_path / "a.pth", {"a": torch.ones(99)}, zipped=True))

"""Data that are not what they say: each refused in one line that names the file, and nothing of it is run."""

import gzip
import io
import pickle
import struct
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from ebmbench.config.sections import Dataset
from ebmbench.core.dataset import load_facts, read_split
from ebmbench.data import celeba, cifar10, mnist
from ebmbench.data.common import arrays
from ebmbench.data.common import files as data_files
from ebmbench.data.common.images import check_images
from ebmbench.data.common.sources import open_source
from ebmbench.errors import UserError
from tests.data.originals import cifar_batches, cifar_record_bytes, files, idx_bytes, write_celeba, write_idx, write_tar
from tests.inputs.mutations import refusal


class Evil:
    """A pickle that leaves a folder behind if it is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.mkdir, (self.folder,))


def own(root: Path, name: str, **values: np.ndarray) -> None:
    """Write a NumPy file, pickles and all."""
    with (root / name).open("wb") as file:
        (np.save(file, values["x"]) if name.endswith(".npy") else np.savez_compressed(file, **values))


def refused(root: Path, name: str) -> str:
    with pytest.raises(UserError) as caught:
        open_source("mine", Dataset(source=name), root)
    return str(caught.value)


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_an_array_of_objects_is_a_pickle_and_not_loaded(tmp_path: Path, name: str) -> None:
    own(tmp_path, name, x=np.array([[Evil(tmp_path / "ran")]] * 20, dtype=object))
    assert "x.np" in (line := refused(tmp_path, name))
    assert "Object arrays cannot be loaded" in line
    assert not (tmp_path / "ran").exists()


def test_a_pickle_with_the_name_of_an_array_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    assert "x.npy: not a NumPy file of plain numbers" in refused(tmp_path, "x.npy")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros((20, 2)), "found constant data"),
        (np.full((20, 2), np.nan), "not finite"),
        (np.full((20, 2), 1e300) * np.arange(20)[:, None], "not finite"),  # in float32
        (np.zeros((20, 0)), r"found shape \(20, 0\)"),
        (np.zeros((0, 2)), r"found shape \(0, 2\)"),
        (np.zeros(20), r"found shape \(20,\)"),
        (np.array("x"), r"found shape \(\)"),
        (np.full((20, 2), "a"), "type <U1"),
        (np.zeros((20, 2), dtype=complex), "type complex128"),
        (np.full((20, 8, 8), 7, dtype=np.uint8), "found constant data"),
        (np.zeros((20, 8, 8, 3), dtype=np.uint8), "channels first"),
    ],
)
def test_numbers_that_are_no_data_are_refused(tmp_path: Path, x: np.ndarray, words: str) -> None:
    own(tmp_path, "x.npy", x=x)
    with pytest.raises(UserError, match=words):
        open_source("mine", Dataset(source="x.npy"), tmp_path)


@pytest.mark.parametrize("kind", [">f8", ">i4", "f2", "g", "u4", "u8"])
def test_numbers_of_every_plain_type_are_data(tmp_path: Path, kind: str) -> None:
    own(tmp_path, "x.npy", x=np.arange(60).reshape(30, 2).astype(kind))
    assert open_source("mine", Dataset(source="x.npy"), tmp_path).train.shape == (24, 2)


def test_images_of_one_class_are_data(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 255, (20, 8, 8), dtype=np.uint8)
    own(tmp_path, "x.npz", x=x, y=np.zeros(20, dtype=int))
    assert open_source("mine", Dataset(source="x.npz"), tmp_path).classes == ["0"]


def test_an_archive_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own(tmp_path, "x.npz", x=np.zeros((1000, 100)))
    monkeypatch.setattr(arrays, "LARGEST", 10_000)
    assert "unpacks to 800128 bytes, allowed: 10000" in refused(tmp_path, "x.npz")


@settings(max_examples=80, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(["x.npy", "x.npz"]))
def test_a_damaged_array_is_read_or_refused_in_one_line(tmp_path: Path, data: st.DataObject, name: str) -> None:
    own(tmp_path, name, x=np.arange(60.0).reshape(30, 2))
    body = bytearray((tmp_path / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / name).write_bytes(body[: data.draw(st.integers(0, len(body)) | st.just(len(body)))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's own, of headers that it mends
        line = refusal(lambda: open_source("mine", Dataset(source=name), tmp_path))
    assert line is None or "x.np" in line or "datasets.mine" in line


IDX = {
    "wrong magic": lambda body: b"\x00\x00\x0d\x03" + body[4:],
    "no idx at all": lambda body: b"PK\x03\x04" + body[4:],
    "a shape of another size": lambda body: body[:4] + struct.pack(">I", 10**9) + body[8:],
    "no rows": lambda body: body[:4] + struct.pack(">I", 0) + body[8:16],
    "truncated": lambda body: body[: len(body) // 2],
    "only a header": lambda body: body[:16],
    "empty": lambda body: b"",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("fault", IDX)
def test_a_broken_idx_file_is_refused_by_its_folder(tmp_path: Path, fault: str, packed: bool) -> None:
    whole = write_idx(tmp_path, packed=packed)["train-images-idx3-ubyte"]
    body = IDX[fault](idx_bytes(whole))
    (file,) = tmp_path.glob("train-images*")
    file.write_bytes(gzip.compress(body) if packed else body)
    line = refusal(lambda: check_images(mnist.images(files("mnist", tmp_path)), "mnist", mnist.CLASSES))
    assert line is not None
    assert "not whole idx files" in line or "found train images" in line


def test_gzip_that_is_damaged_or_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_idx(tmp_path, packed=True)
    (file,) = tmp_path.glob("train-images*")
    whole = file.read_bytes()
    file.write_bytes(whole[:20] + b"\xff\xff\xff" + whole[23:])
    with pytest.raises(UserError, match="not whole idx files"):
        mnist.images(files("mnist", tmp_path))
    file.write_bytes(gzip.compress(b"\0" * (4 << 20)))
    monkeypatch.setattr(data_files, "LARGEST", 1 << 20)
    with pytest.raises(UserError, match="it unpacks to more than 1048576 bytes"):
        mnist.images(files("mnist", tmp_path))
    with pytest.raises(UserError, match="damaged or another file"):
        mnist.images(files("mnist", tmp_path, verify=True))


@pytest.mark.parametrize(
    "contents",
    [
        {"cifar-10-batches-bin/data_batch_1.bin": b"\0" * (3073 * 3 + 1)},
        {"../../evil.bin": b"x", "/etc/evil.bin": b"x"},
        {"cifar-10-batches-bin/test_batch.bin": b""},
        {},
    ],
)
def test_a_cifar_archive_that_is_not_whole_is_refused_and_unpacked_nowhere(
    tmp_path: Path, contents: dict[str, bytes]
) -> None:
    write_tar(tmp_path / "data" / "cifar-10-binary.tar.gz", contents)
    with pytest.raises(UserError, match="not whole CIFAR-10 batches"):
        cifar10.images(files("cifar10", tmp_path / "data"))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["cifar-10-binary.tar.gz"]


def test_a_cifar_batch_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "LARGEST", 1000)
    batches = {f"cifar-10-batches-bin/{name}.bin": cifar_record_bytes(*one) for name, one in cifar_batches().items()}
    write_tar(tmp_path / "cifar-10-binary.tar.gz", batches)
    with pytest.raises(UserError, match="a batch at most 1000"):
        cifar10.images(files("cifar10", tmp_path))


def png(side: int) -> bytes:
    body = io.BytesIO()
    Image.new("L", (side, side)).save(body, "PNG")
    return body.getvalue()


@pytest.mark.parametrize("fault", ["long", "pixels", "text"])
def test_a_photograph_that_is_none_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    write_celeba(tmp_path)
    names = sorted((tmp_path / "img_align_celeba").iterdir())
    body = {"long": b"\0" * 20_000, "pixels": png(500), "text": b"a photograph"}[fault]
    with zipfile.ZipFile(tmp_path / "img_align_celeba.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in names:
            archive.writestr(f"img_align_celeba/{path.name}", body)
            path.unlink()
    monkeypatch.setattr(celeba, "LARGEST", 10_000)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(UserError, match=r"\.jpg is missing or damaged"):
        celeba.images(files("celeba", tmp_path))


def test_prepared_data_that_are_missing_or_damaged_say_how_to_make_them(tmp_path: Path) -> None:
    folder = tmp_path / "two_moons"
    with pytest.raises(UserError, match=r"two_moons: not prepared .*`ebmbench prepare two_moons` does it"):
        load_facts(folder)
    folder.mkdir()
    (folder / "facts.json").write_text('{"name": ', encoding="utf-8")
    (folder / "train.npy").write_bytes(b"\x93NUMPY\x01\x00")
    for act in (lambda: load_facts(folder), lambda: read_split(folder, "train")):
        with pytest.raises(UserError, match="not prepared"):
            act()


def test_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    own(tmp_path, "x.npy", x=np.arange(60.0).reshape(30, 2))
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "x.npy").symlink_to(tmp_path / "x.npy")
    assert "allowed: a path inside the project" in refused(tmp_path / "project", "x.npy")


HONEST = "torch.randn(count, 2, generator=generator)"


def python(root: Path, body: str) -> None:
    (root / "mine.py").write_text(f"import numpy as np\nimport torch\n\n\n{body}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("torch.randn(7, 2, generator=generator)", r"shape \(7, 2\), type float32"),
        ("torch.randn(2 * count, 2, generator=generator)", r"shape \(60, 2\), type float32"),
        (f"{HONEST}.to(torch.complex64)", r"shape \(30, 2\), type complex64"),
        ("np.ones((count, 2)) * 1j", r"shape \(30, 2\), type complex128"),
        ("torch.randn(count, generator=generator)", r"shape \(30,\), type float32"),
        (f"{HONEST}.to_sparse()", r"shape \(30, 2\), type float32, sparse_coo, cpu"),
        (f"{HONEST}.to('meta')", r"shape \(30, 2\), type float32, strided, meta"),
        ("None", "NoneType"),
        ("'a text'", "str"),
        ("[[1.0, 2.0], [3.0]]", "list"),
        ("[['a', 'b']] * count", "list"),
        ("[[10**400, 1]] * count", "list"),
        (f"({HONEST}, torch.zeros(count))", "tuple"),
        ("np.array([['1', '2']] * count)", "ndarray"),
    ],
)
def test_what_sample_gives_is_as_many_real_events_as_were_asked_for(tmp_path: Path, given: str, found: str) -> None:
    python(tmp_path, f"def sample(count, generator):\n    return {given}")
    allowed = r"allowed: 30 events of real numbers, \(30, d\), for count = 30 \(params\.yaml: datasets\.mine\)"
    with pytest.raises(UserError, match=rf"^mine\.py: sample\(count, generator\): found {found}.*, {allowed}$"):
        open_source("mine", Dataset(source="mine.py", train=30, test=10), tmp_path)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"def sample(count, generator):\n    return {HONEST} / 0", "found 60 of 60 values that are not finite"),
        ("def sample(count, generator):\n    return torch.ones(count, 2)", "found constant data"),
        ("def sample(count, generator):\n    return torch.rand(count, 0)", r"found shape \(30, 0\)"),
        ("def sample(count, generator):\n    return torch.rand(count, 1 + count // 10)", r"\(30, 4\) and \(10, 2\)"),
        ("def sample(count):\n    return torch.rand(count, 2)", r"found \(count\), allowed: \(count, generator\)"),
        ("def sample(count, generator, more):\n    pass", r"found \(count, generator, more\), allowed"),
        ("def density():\n    return None", "found NoneType without sample, log_prob"),
        (
            "def density():\n    return torch.distributions.Normal(0, 1)",
            "found Normal without score, smoothed, centres",
        ),
    ],
)
def test_a_python_file_that_is_no_dataset_is_named_with_its_function(tmp_path: Path, body: str, words: str) -> None:
    python(tmp_path, body)
    with pytest.raises(UserError, match=rf"^mine\.py: (sample|density).*{words}.*\(params\.yaml: datasets\.mine\)$"):
        open_source("mine", Dataset(source="mine.py", train=30, test=10), tmp_path)


@pytest.mark.parametrize("given", [HONEST, f"{HONEST}.numpy()", f"{HONEST}.tolist()", f"{HONEST}.requires_grad_()"])
def test_what_sample_gives_may_be_a_tensor_an_array_or_a_list(tmp_path: Path, given: str) -> None:
    python(tmp_path, f"def sample(count, generator):\n    return {given}")
    source = open_source("mine", Dataset(source="mine.py", train=30, test=10), tmp_path)
    assert (source.train.shape, source.test.shape) == ((30, 2), (10, 2))
    assert not source.train.requires_grad


IMAGES = "from ebmbench.data.common.images import Images\n\n\ndef images(files):\n    return "
GREY = "(torch.arange({}) % 7).to(torch.uint8).reshape({})"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("torch.rand(10, 1, 8, 8)", r"images\(files\): found Tensor, allowed: Images"),
        ("Images(np.zeros((10, 1, 8, 8)), None)", "found train images of type ndarray"),
        (
            f"Images({GREY.format(640, '10, 1, 8, 8')}, torch.zeros(10, 1, 0, 8).byte())",
            "found test images of type torch",
        ),
        (
            f"Images({GREY.format(640, '10, 1, 8, 8')}, {GREY.format(360, '10, 1, 6, 6')})",
            r"found images \(10, 1, 8, 8\) and \(10, 1, 6, 6\)",
        ),
    ],
)
def test_what_images_gives_is_two_splits_of_images(tmp_path: Path, given: str, words: str) -> None:
    python(tmp_path, IMAGES + given)
    (tmp_path / "params.yaml").write_bytes((Path(__file__).parents[2] / "params.yaml").read_bytes())
    with pytest.raises(UserError, match=f"datasets.mine: .*{words}"):
        open_source("mine", Dataset(source="mine.py", train=30, test=10), tmp_path)


def test_a_source_that_links_to_itself_is_refused_by_its_key(tmp_path: Path) -> None:
    (tmp_path / "x.npy").symlink_to("x.npy")
    assert refused(tmp_path, "x.npy").startswith("params.yaml: datasets.mine.source: found 'x.npy', but ")

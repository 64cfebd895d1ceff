"""Small files in the publishers' own formats."""

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

from ebmbench.data.common.files import Files

CELEBA_HEADED = {"list_attr_celeba.txt": 40, "list_bbox_celeba.txt": 4, "list_landmarks_align_celeba.txt": 10}


def files(dataset: str, root: Path, **more: object) -> Files:
    """Unchecked files of a folder; nothing is ever downloaded unless a test says so."""
    settings: dict[str, object] = {"train": 1000, "test": 1000, "verify": False} | more
    return Files(dataset, roots=(root,), downloads=root / "downloads", **settings)  # type: ignore[arg-type]


def grey(count: int, seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


def idx_bytes(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_idx(folder: Path, train: int = 40, test: int = 20, packed: bool = False) -> dict[str, np.ndarray]:
    """MNIST's four files; what is in them, by name."""
    arrays = {}
    for part, count in [("train", train), ("t10k", test)]:
        arrays[f"{part}-images-idx3-ubyte"] = grey(count, count, 28, 28)
        arrays[f"{part}-labels-idx1-ubyte"] = (np.arange(count) % 10).astype(np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        body = idx_bytes(array)
        (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(body, mtime=0) if packed else body)
    return arrays


def cifar_batches(count: int = 8) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    return {name: (grey(count, seed, 3072), np.arange(count) % 10) for seed, name in enumerate(names)}


def cifar_record_bytes(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    return np.concatenate([labels.astype(np.uint8)[:, None], pixels], axis=1).tobytes()


def cifar_pickle_bytes(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    """The opcodes that Python 2's cPickle wrote, protocol 2: strings are BINSTRING, which Python 3 cannot write."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    kind = (
        b"cnumpy\ndtype\n("
        + text(b"u1")
        + b"K\x00K\x01tR(K\x03"
        + text(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    shape = b"".join(b"M" + struct.pack("<H", size) for size in pixels.shape) + b"\x86"
    body = b"T" + struct.pack("<I", pixels.nbytes) + pixels.tobytes()
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85" + text(b"b") + b"tR"
    array += b"(K\x01" + shape + kind + b"\x89" + body + b"tb"
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels.tolist()) + b"e"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + listed + b"u."


def write_tar(path: Path, contents: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, body in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))


def write_celeba(folder: Path, count: int = 12) -> list[np.ndarray]:
    """Lists and JPEG files; of three photographs one trains, one validates, one tests. The photographs, as decoded."""
    (folder / "img_align_celeba").mkdir(parents=True)
    names = [f"{number:06d}.jpg" for number in range(1, count + 1)]
    photographs = []
    for seed, name in enumerate(names):
        coarse = Image.fromarray(grey(1, seed, 8, 6, 3)[0]).resize((178, 218))
        coarse.save(folder / "img_align_celeba" / name)
        photographs.append(np.array(Image.open(folder / "img_align_celeba" / name)))
    _lines(folder / "list_eval_partition.txt", [f"{name} {row % 3}" for row, name in enumerate(names)])
    _lines(folder / "identity_CelebA.txt", [f"{name} {row}" for row, name in enumerate(names)])
    for file, columns in CELEBA_HEADED.items():
        header = [str(count), " ".join(f"c{column}" for column in range(columns))]
        _lines(folder / file, header + [f"{name} " + " ".join(["1"] * columns) for name in names])
    return photographs


def _lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

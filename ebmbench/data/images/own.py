"""Images of one's own, and the checks that all images pass."""

import numpy as np
import torch
from torch import Tensor

from ebmbench.data.images.images import Images
from ebmbench.errors import UserError

COLOURS = (1, 3)


def is_image(rows: np.ndarray) -> bool:
    """Whether an array of one's own is taken as images: grey values in one byte, `(N, H, W)` or `(N, C, H, W)`."""
    return rows.dtype == np.uint8 and rows.ndim in (3, 4)


def with_channels(rows: np.ndarray, file: str) -> Tensor:
    """As `(N, C, H, W)`."""
    if rows.ndim == 3:
        return torch.as_tensor(rows).unsqueeze(1)
    if rows.shape[1] not in COLOURS:
        raise UserError(
            f"{file}: found images of shape {rows.shape}, allowed: (N, C, H, W), channels first, 1 or 3 of them"
        )
    return torch.as_tensor(rows)


def labelled(labels: np.ndarray | None, count: int, name: str) -> tuple[Tensor | None, list[str]]:
    """Labels as 0 … K − 1, and the K values they had as names of classes."""
    if labels is None:
        return None, []
    if labels.shape != (count,) or labels.dtype.kind not in "iuU":
        raise UserError(
            f"datasets.{name}: found labels y of shape {labels.shape}, type {labels.dtype}, "
            f"allowed: whole numbers or names of shape ({count},)"
        )
    values, places = np.unique(labels, return_inverse=True)
    return torch.as_tensor(places).long(), [str(value) for value in values]


def checked_images(images: Images, name: str, classes: list[str]) -> None:
    """Refuse what is not a pair of splits of images, with labels that the classes name."""
    if not isinstance(images, Images):
        raise UserError(f"datasets.{name}: images(files): found {type(images).__name__}, allowed: {Images.__name__}")
    for split, x, y in [
        ("train", images.train, images.train_labels),
        ("test", images.test, images.test_labels),
    ]:
        if not _are_images(x, images.levels):
            raise UserError(
                f"datasets.{name}: found {split} images of {_said(x)}, "
                f"allowed: at least 2 of uint8 (N, C, H, W) below {images.levels}"
            )
        if bool((x == x[0]).all()):
            raise UserError(f"datasets.{name}: found constant data, allowed: data that vary")
        if (y is not None) != bool(classes) or (y is not None and not _fit(y, len(x), len(classes))):
            raise UserError(f"datasets.{name}: found {split} labels that do not fit the images or CLASSES")
    if images.train.shape[1:] != images.test.shape[1:]:
        found = f"found images {tuple(images.train.shape)} and {tuple(images.test.shape)}"
        raise UserError(f"datasets.{name}: {found}, allowed: images of one shape")


def _are_images(x: Tensor, levels: int) -> bool:
    known = isinstance(x, Tensor) and x.dtype == torch.uint8 and x.dim() == 4 and len(x) >= 2 and x.numel() > 0
    return known and int(x.max()) < levels


def _said(x: Tensor) -> str:
    return f"type {x.dtype}, shape {tuple(x.shape)}" if isinstance(x, Tensor) else f"type {type(x).__name__}"


def _fit(labels: Tensor, count: int, classes: int) -> bool:
    return labels.shape == (count,) and int(labels.min()) >= 0 and int(labels.max()) < classes

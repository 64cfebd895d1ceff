"""Precision and recall of features by their neighbours (Kynkäänniemi et al. 2019), in memory that does not grow.

The manifold of a set is a ball around each of its points, to its k-th neighbour in the set; precision is the share of
generated points in the real ones' manifold, recall that of real points in the generated ones'. torch-fidelity's own
search keeps whole rows of distances, which takes gigabytes at 100 000 points, and sorts out each row's k-th value by
going through all of it several times; in short rows that fit memory it would take most of an hour. Here every block of
distances leaves the k + 1 smallest of its rows, and the smallest of those are the row's: the same distances from the
same blocks of 1000, so the same numbers bit for bit wherever torch-fidelity was used before.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from ebmbench.core.torch_compat import torch_fidelity

BLOCK = 1000  # rows and columns of the distances that are held at a time


def precision_and_recall(generated: Tensor, real: Tensor, k: int, block: int = BLOCK) -> tuple[float, float]:
    """Of features `(N, D)` and `(M, D)`."""
    precision = _inside(generated, real, _radii(real, k, block), block)
    recall = _inside(real, generated, _radii(generated, k, block), block)
    return precision, recall


def _radii(x: Tensor, k: int, block: int) -> Tensor:
    """The distance of every point to its k-th neighbour, `(N,)`; the nearest of all is the point itself."""
    if len(x) <= k:
        raise ValueError(f"needs more than {k} points, has {len(x)}")
    radii = x.new_empty(len(x))
    for rows, radius in zip(x.split(block), radii.split(block), strict=True):
        radius.copy_(_nearest(rows, x, k + 1, block)[:, -1])
    return radii


def _nearest(rows: Tensor, x: Tensor, count: int, block: int) -> Tensor:
    """The smallest distances of every row, ascending, `(B, count)`."""
    found = rows.new_full((len(rows), count), torch.inf)
    for part in x.split(block):
        nearest = torch.cdist(rows, part).topk(min(count, len(part)), largest=False).values
        # Written in place: what stays between large blocks that come and go would keep their memory from being reused.
        found.copy_(torch.cat([found, nearest], dim=1).topk(count, largest=False).values)
    return found


def _inside(x: Tensor, centres: Tensor, radii: Tensor, block: int) -> float:
    """The share of points that lie in any of the balls."""
    inside = x.new_empty(len(x), dtype=torch.bool)
    for rows, found in zip(x.split(block), inside.split(block), strict=True):
        found.copy_(_in_any(rows, centres, radii, block))
    return float(inside.float().mean())


def _in_any(rows: Tensor, centres: Tensor, radii: Tensor, block: int) -> Tensor:
    found = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
    for columns, reach in zip(centres.split(block), radii.split(block), strict=True):
        found |= (torch.cdist(rows, columns) <= reach).any(dim=1)
        if found.all():
            break
    return found


@contextmanager
def our_search() -> Iterator[None]:
    """Inside the block torch-fidelity uses this search, so that features are extracted once for all its numbers."""
    theirs = torch_fidelity().metric_prc
    name = "calculate_precision_recall_part"
    kept = getattr(theirs, name)
    setattr(theirs, name, precision_and_recall)
    try:
        yield
    finally:
        setattr(theirs, name, kept)

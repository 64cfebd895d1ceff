"""Precision, recall, density and coverage of features by their neighbours, in memory that does not grow.

The manifold of a set is a ball around each of its points, to its k-th neighbour in the set; precision is the share of
generated points in the real ones' manifold, recall that of real points in the generated ones' (Kynkäänniemi et al.
2019). Density counts the real balls that a generated point lies in, over k, and coverage is the share of real balls
that hold one (Naeem et al. 2020): one outlier among the generated points has a large ball, but covers little.

torch-fidelity's own search keeps whole rows of distances, which takes gigabytes at 100 000 points, and sorts out each
row's k-th value by going through all of it several times; in short rows that fit memory it would take most of an hour.
Here every block of distances leaves the k + 1 smallest of its rows, and the smallest of those are the row's: the same
distances from the same blocks of 1000, so the same numbers bit for bit wherever torch-fidelity was used before.
"""

import math

import torch
from torch import Tensor

BLOCK = 1000  # rows and columns of the distances that are held at a time


def precision_and_recall(
    generated: Tensor, real: Tensor, k: int, real_radii: Tensor | None = None, block: int = BLOCK
) -> tuple[float, float]:
    """Of features `(N, D)` and `(M, D)`; `real_radii` are `radii(real, k)`, where those are known."""
    precision = _inside(generated, real, radii(real, k, block) if real_radii is None else real_radii, block)
    recall = _inside(real, generated, radii(generated, k, block), block)
    return precision, recall


def density_and_coverage(
    generated: Tensor, real: Tensor, k: int, real_radii: Tensor | None = None, block: int = BLOCK
) -> tuple[float, float]:
    """Of features `(N, D)` and `(M, D)`; balls are closed, as those of precision are."""
    reach = radii(real, k, block) if real_radii is None else real_radii
    covered, inside = real.new_zeros(len(real), dtype=torch.bool), 0
    for rows in generated.split(block):
        for columns, radius, found in zip(real.split(block), reach.split(block), covered.split(block), strict=True):
            held = torch.cdist(rows, columns) <= radius
            found |= held.any(dim=0)
            inside += int(held.sum())
    return inside / (k * len(generated)), float(covered.double().mean())


def expected_coverage(generated: int, real: int, k: int) -> float:
    """1 − Π (M − i)/(M + N − i), i = 1 … k: coverage of M real points by N of the same law, on average.

    A ball is empty if the k points nearest to its centre are all real ones.
    """
    return 1 - math.prod((real - i) / (real + generated - i) for i in range(1, k + 1))


def radii(x: Tensor, k: int, block: int = BLOCK) -> Tensor:
    """The distance of every point to its k-th neighbour, `(N,)`."""
    return distances(x, k, block)[:, -1]


def distances(x: Tensor, k: int, block: int = BLOCK) -> Tensor:
    """The distances of every point to its k nearest neighbours, ascending, `(N, k)`; it is none of its own."""
    if len(x) <= k:
        raise ValueError(f"needs more than {k} points, has {len(x)}")
    found = x.new_empty(len(x), k)
    for rows, nearest in zip(x.split(block), found.split(block), strict=True):
        nearest.copy_(_nearest(rows, x, k + 1, block)[:, 1:])
    return found


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

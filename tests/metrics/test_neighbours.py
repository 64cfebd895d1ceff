"""Precision and recall by neighbours: torch-fidelity's numbers, and those of the definition."""

import pytest
import torch
from torch import Tensor

from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.metrics.common.neighbours import BLOCK, precision_and_recall, radii

SIZES = [(300, 500), (1000, 1297), (2345, 1001), (5, 40)]


def normal(count: int, size: int, name: int, shift: float = 0.0) -> Tensor:
    return shift + torch.randn(count, size, generator=torch.Generator().manual_seed(name), dtype=torch.float64)


def theirs(generated: Tensor, real: Tensor, block: int = BLOCK) -> tuple[float, float]:
    found: tuple[float, float] = torch_fidelity().metric_prc.calculate_precision_recall_part(generated, real, 3, block)
    return found


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("size", [2, 64])
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_they_are_torch_fidelitys_bit_for_bit(n: int, m: int, size: int, shift: float) -> None:
    generated, real = normal(n, size, 0, shift), normal(m, size, 1)
    found = precision_and_recall(generated, real, 3)
    assert found == theirs(generated, real) == precision_and_recall(generated, real, 3, radii(real, 3))
    assert min(found) < 1


@pytest.mark.parametrize("block", [1, 7, 100, 10_000])
@pytest.mark.parametrize("grid", [2, 8])
def test_ties_and_copies_count_as_torch_fidelity_counts_them(block: int, grid: int) -> None:
    """Whole numbers have exact distances, many of them equal, and many points are the same."""
    count = 60 if block == 1 else 400
    generated, real = ((grid * normal(count, 3, name)).round() for name in (0, 1))
    assert (
        precision_and_recall(generated, real, 3, block=block)
        == theirs(generated, real, block)
        == theirs(generated, real)
    )


def test_single_precision_is_torch_fidelitys_too() -> None:
    generated, real = normal(700, 64, 0).float(), normal(1200, 64, 1).float()
    assert precision_and_recall(generated, real, 3) == theirs(generated, real)


def test_a_point_is_inside_if_it_is_as_near_as_the_third_neighbour() -> None:
    real = torch.tensor([[0.0], [1.0], [2.0], [3.0]]).double()  # radii 3, 2, 2, 3
    generated = torch.tensor([[-3.0], [-3.001], [6.0], [6.5]]).double()  # radii 9.5, 9.501, 9.001, 9.501
    assert precision_and_recall(generated, real, 3) == (0.5, 1.0)


def test_fewer_points_than_neighbours_have_no_manifold() -> None:
    with pytest.raises(ValueError, match="needs more than 3 points, has 3"):
        precision_and_recall(normal(3, 2, 0), normal(9, 2, 1), 3)

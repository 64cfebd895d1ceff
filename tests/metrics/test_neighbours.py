"""Numbers by neighbours: torch-fidelity's, those of the definition, and what is known of equal laws."""

import pytest
import torch
from torch import Tensor

from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.metrics.common.neighbours import (
    BLOCK,
    density_and_coverage,
    distances,
    expected_coverage,
    precision_and_recall,
    radii,
)

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


def by_definition(generated: Tensor, real: Tensor, k: int) -> tuple[float, float]:
    """Naeem et al. 2020, equations 3 and 4, from whole matrices of distances."""
    radius = torch.cdist(real, real).sort(dim=1).values[:, k]
    held = torch.cdist(generated, real) <= radius
    return held.sum().item() / (k * len(generated)), held.any(dim=0).double().mean().item()


@pytest.mark.parametrize(("n", "m"), [(300, 500), (1297, 1001), (5, 40), (40, 9)])
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("block", [50, BLOCK])
def test_density_and_coverage_are_those_of_their_definition(n: int, m: int, k: int, block: int) -> None:
    generated, real = (normal(count, 3, name, 0.2 * name) for name, count in enumerate((n, m)))
    expected = by_definition(generated, real, k)
    assert density_and_coverage(generated, real, k, block=block) == pytest.approx(expected, abs=1e-12)
    assert density_and_coverage(generated, real, k, radii(real, k), block) == pytest.approx(expected, abs=1e-12)


def test_a_point_on_the_edge_of_a_ball_is_in_it() -> None:
    real = torch.tensor([[0.0], [1.0], [3.0]]).double()  # radii to the first neighbour: 1, 1, 2
    assert density_and_coverage(torch.tensor([[-1.0], [5.0]]).double(), real, 1) == (1.0, 2 / 3)
    assert density_and_coverage(torch.tensor([[-1.1], [5.1]]).double(), real, 1) == (0.0, 0.0)


@pytest.mark.parametrize(("n", "m"), [(100, 200), (200, 100), (300, 300)])
def test_points_of_one_law_have_the_coverage_and_density_that_are_known(n: int, m: int) -> None:
    found = torch.tensor(
        [density_and_coverage(normal(n, 4, 2 * i), normal(m, 4, 2 * i + 1), 5) for i in range(100)], dtype=torch.float64
    )
    error = found.std(0) / 10
    assert abs(found[:, 0].mean() - 1) < 4 * error[0]
    assert abs(found[:, 1].mean() - expected_coverage(n, m, 5)) < 4 * error[1]
    assert error[1] < 0.005


def test_the_expected_coverage_of_many_is_one_half_to_the_k() -> None:
    assert expected_coverage(10**6, 10**6, 5) == pytest.approx(1 - 2**-5, abs=1e-5)
    assert expected_coverage(1, 10, 1) == pytest.approx(0.1)  # one point is the nearest of ten


def test_a_collapsed_sampler_is_as_dense_as_the_truth_and_covers_little_and_an_outlier_covers_nothing_more() -> None:
    real = normal(1000, 2, 0)
    collapsed = 0.05 * normal(1000, 2, 1)
    density, coverage = density_and_coverage(collapsed, real, 5)
    assert density > 1
    assert coverage < 0.05
    outlier = torch.cat([collapsed, torch.tensor([[30.0, 30.0]]).double()])
    assert density_and_coverage(outlier, real, 5)[1] == coverage
    assert precision_and_recall(outlier, real, 5)[1] > 10 * coverage  # recall believes its large ball


def test_distances_are_those_to_all_neighbours_up_to_the_kth() -> None:
    x = normal(50, 3, 0)
    found = distances(x, 5, block=7)
    torch.testing.assert_close(found, torch.cdist(x, x).sort(dim=1).values[:, 1:6])
    assert torch.equal(found[:, 2], radii(x, 3, block=7))

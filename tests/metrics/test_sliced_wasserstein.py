"""Sliced Wasserstein: known values, and how little its directions matter."""

import math

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Value
from ebmbench.metrics.sliced_wasserstein import choose_directions, compute, squared_distances
from tests.conftest import gaussian_facts


def normal(count: int, size: int, name: str) -> Tensor:
    return torch.randn(count, size, generator=stream(0, name), dtype=torch.float64)


def judge(x: Tensor, y: Tensor, projections: int = 1024) -> Value:
    size = x.shape[1]
    found = compute(Evaluation(Subject(None, x), y, None, gaussian_facts(size), Settings(projections=projections)))
    assert found.value is not None
    return found


def turn(x: Tensor, angle: float) -> Tensor:
    c, s = math.cos(angle), math.sin(angle)
    return x @ torch.tensor([[c, s], [-s, c]], dtype=x.dtype)


def reference(x: Tensor, y: Tensor, count: int = 4096) -> float:
    angles = math.pi * torch.arange(count, dtype=torch.float64) / count
    directions = torch.stack([angles.cos(), angles.sin()], 1)
    return math.sqrt(float(squared_distances(x, y, directions).mean()))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 64, 200])
def test_a_shift_is_far_by_the_root_mean_square_of_its_projections(size: int) -> None:
    """|δ|/√d, exactly so for orthonormal directions: their squared projections sum up to |δ|²."""
    x, shift = normal(500, size, "x"), normal(1, size, "shift")
    found = judge(x + shift, x)
    tolerance = 1e-10 if size <= 128 else 0.1  # above, a group is no whole basis
    assert found.value == pytest.approx(float(shift.norm()) / math.sqrt(size), rel=tolerance)


def test_two_gaussians_are_as_far_as_their_means_and_deviations_say() -> None:
    """W₂² along u is ⟨δ, u⟩² + (s − 1)²."""
    x, y = 1.5 * normal(20_000, 2, "x") + torch.tensor([1.0, 2.0]), normal(20_000, 2, "y")
    assert judge(x, y).value == pytest.approx(math.sqrt(5 / 2 + 0.5**2), rel=0.01)


@pytest.mark.parametrize("dataset", ["eight_gaussians", "two_moons", "checkerboard", "unbalanced"])
@pytest.mark.parametrize("kind", ["truth", "gaussian", "lopsided"])
def test_in_the_plane_it_is_that_of_very_many_directions(dataset: str, kind: str) -> None:
    truth = load("data", dataset).density()
    y, x = (truth.sample(1000, stream(0, name)).double() for name in ("test", "samples"))
    if kind == "gaussian":
        x = normal(1000, 2, "gaussian") @ torch.linalg.cholesky(y.mT.cov()).mT + y.mean(0)
    if kind == "lopsided":
        x = torch.cat([x[x[:, 0] > 0], x])[:1000]
    found = judge(x, y)
    assert found.value == pytest.approx(reference(x, y), rel=0.005)
    assert found.error is None
    for angle in (0.01, 0.3, 1.0):
        assert judge(turn(x, angle), turn(y, angle)).value == pytest.approx(found.value, rel=0.005)


@pytest.mark.parametrize("size", [3, 10, 64])
def test_above_the_plane_directions_are_orthonormal_in_groups_and_move_it_by_two_percent(size: int) -> None:
    directions = choose_directions(size, 1024)
    groups, members, _ = directions.shape
    assert members == size
    assert groups * members >= 1024
    torch.testing.assert_close(directions @ directions.mT, torch.eye(members).double().expand(groups, -1, -1))
    y = normal(500, size, "y") * torch.linspace(0.5, 2, size)
    x = y + 3 * normal(500, 1, "line") * torch.eye(size)[0]  # wider along one axis only: far from a mere shift
    found = judge(x, y)
    assert found.error is not None
    assert 0 < found.error < 0.02 * found.value
    assert "error: over the groups" in found.protocol
    rotation = torch.linalg.qr(normal(size, size, "rotation")).Q  # as good as other directions
    turned = judge(x @ rotation, y @ rotation)
    assert abs(turned.value - found.value) < 4 * math.hypot(found.error, turned.error)


def test_its_error_is_what_other_directions_would_change() -> None:
    size = 10
    y = normal(300, size, "y")
    x = y + 30 * normal(300, 1, "line") * torch.eye(size)[0]
    found = []
    for i in range(40):
        rotation = torch.linalg.qr(normal(size, size, f"rotation {i}")).Q
        found.append(judge(x @ rotation, y @ rotation, 200))
    spread = torch.tensor([one.value for one in found]).std()
    assert torch.tensor([one.error for one in found]).mean() == pytest.approx(float(spread), rel=0.4)


def test_few_directions_and_equal_samples_are_no_trouble() -> None:
    x = normal(50, 5, "x")
    assert judge(x, x).value == judge(x, x).error == 0
    assert judge(x, x + 1, 1).error is None
    assert judge(x, x + 1, 3).error is not None

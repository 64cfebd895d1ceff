"""Stein discrepancy, entropy of samples and the classifier test: known values of Gaussians."""

import math

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.streams import stream
from ebmbench.metrics import ksd
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable, Value
from tests.conftest import binary_facts, gaussian_facts
from tests.identities import quadrature


def normal(count: int, d: int, name: str) -> Tensor:
    return torch.randn(count, d, generator=stream(0, name), dtype=torch.float64)


def judge(name: str, x: Tensor, y: Tensor, scale: float = 1.0) -> Value:
    """Samples x of a standard normal model (of deviation `scale`) beside test data y."""

    def energy(u: Tensor) -> Tensor:
        return 0.5 * (u / scale).square().sum(1)

    e = Evaluation(Subject(energy, x), y, None, gaussian_facts(x.shape[1], scale), Settings(block=500))
    found: Value = load("metrics", name).compute(e)
    assert found.value is not None
    assert found.error is not None
    return found


def shifted_discrepancy(shift: float, width: float, d: int) -> float:
    """KSD² of N(m, I) from N(0, I): the scores differ by −m everywhere, so ‖m‖² E k, with x − x′ ~ N(0, 2I)."""
    return shift**2 * (width**2 / (width**2 + 2)) ** (d / 2)


@pytest.mark.parametrize(("shift", "d"), [(0.0, 1), (0.7, 1), (0.0, 2), (0.7, 2)])
@pytest.mark.parametrize("width", [1.0, 2.5])
def test_the_expected_stein_kernel_of_a_shifted_gaussian_is_known(shift: float, d: int, width: float) -> None:
    """Expectations over both samples by quadrature: an equality."""
    x, weights = quadrature.normal(60 if d == 1 else 28, d)
    x = x + shift * torch.eye(d)[0].double()
    found = weights @ ksd.stein_kernel(x, x, -x, -x, width) @ weights
    assert found.item() == pytest.approx(shifted_discrepancy(shift, width, d), abs=1e-6)


def test_the_stein_kernel_is_that_of_its_definition_by_automatic_differentiation() -> None:
    """u = sᵀs′k + sᵀ∇ₓ′k + s′ᵀ∇ₓk + tr ∇ₓ∇ₓ′k for scores that are any numbers."""
    x, y, a, b = normal(4, 3, "x"), normal(5, 3, "y"), normal(4, 3, "a"), normal(5, 3, "b")

    def kernel(u: Tensor, v: Tensor) -> Tensor:
        return (-(u - v).square().sum() / (2 * 1.3**2)).exp()

    for i, j in ((0, 0), (1, 3), (3, 4)):
        left, right = torch.func.grad(kernel, 0)(x[i], y[j]), torch.func.grad(kernel, 1)(x[i], y[j])
        mixed = torch.func.jacrev(torch.func.grad(kernel, 0), 1)(x[i], y[j])
        expected = a[i] @ b[j] * kernel(x[i], y[j]) + a[i] @ right + b[j] @ left + mixed.trace()
        assert ksd.stein_kernel(x, y, a, b, 1.3)[i, j].item() == pytest.approx(expected.item(), abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.5])
@pytest.mark.parametrize("d", [1, 2, 10])
def test_samples_of_a_gaussian_have_its_discrepancy_within_its_error(shift: float, d: int) -> None:
    x, y = normal(10_000, d, "x") + shift / math.sqrt(d), normal(2000, d, "y")
    found, width = judge("ksd", x, y), ksd.median_distance(y[:500])
    assert abs(found.value - shifted_discrepancy(shift, width, d)) < 4 * found.error
    assert found.error < 0.02
    assert shift == 0 or found.value > 10 * found.error


def test_the_datas_unit_does_not_matter() -> None:
    x, y = normal(2000, 2, "x") + 0.3, normal(2000, 2, "y")
    for name in ("ksd", "c2st"):
        assert judge(name, x, y).value == pytest.approx(judge(name, 7 * x, 7 * y, scale=7.0).value, rel=1e-6)
    gap = judge("entropy", 7 * x, y).value - judge("entropy", x, y).value
    assert gap == pytest.approx(2 * math.log(7), abs=1e-9)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_entropy_of_a_gaussian_is_found_within_its_error(d: int) -> None:
    """½ log det(2πe Σ) with Σ = LLᵀ; in five dimensions its bias, some 0.03, is allowed for."""
    root = torch.diag(torch.linspace(1, 2, d).double()) + 0.3 * torch.ones(d, d).double().tril(-1)
    x = normal(10_000, d, "x") @ root.mT
    found = judge("entropy", x, x[:100])
    exact = 0.5 * d * math.log(2 * math.pi * math.e) + root.diagonal().abs().log().sum().item()
    assert abs(found.value - exact) < 4 * found.error + (0.03 if d == 5 else 0.0)
    assert found.error < 0.03


def test_the_entropy_of_a_uniform_density_on_an_interval_is_its_log_length() -> None:
    x = 8 * torch.rand(20_000, 1, generator=stream(0, "x"), dtype=torch.float64)
    found = judge("entropy", x, x[:100])
    assert abs(found.value - math.log(8)) < 4 * found.error


def test_the_error_of_the_entropy_is_its_spread_over_repetitions() -> None:
    runs = [judge("entropy", normal(500, 2, f"x{i}"), normal(10, 2, "y")) for i in range(200)]
    spread = torch.tensor([run.value for run in runs]).std().item()
    assert sum(run.error for run in runs) / len(runs) == pytest.approx(spread, rel=0.2)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_equal_distributions_are_told_apart_by_chance_alone(d: int) -> None:
    found = judge("c2st", normal(4000, d, "x"), normal(4000, d, "y"))
    assert abs(found.value - 0.5) < 4 * found.error
    assert found.error == pytest.approx(math.sqrt(0.25 / 8000), rel=0.01)


@pytest.mark.parametrize(("shift", "d"), [(1.0, 1), (2.0, 2), (4.0, 2), (2.0, 10)])
def test_two_shifted_gaussians_are_told_apart_as_often_as_by_bayes_rule(shift: float, d: int) -> None:
    """The best classifier asks which mean is nearer: Φ(δ/2)."""
    found = judge("c2st", normal(4000, d, "x") + shift / math.sqrt(d), normal(4000, d, "y"))
    best = 0.5 * (1 + math.erf(shift / 2 / math.sqrt(2)))
    assert best - 0.02 - 3 * found.error < found.value < best + 3 * found.error


def test_samples_that_are_test_events_are_no_test_events_any_more() -> None:
    """Of images the oracle's samples are test images: told from other ones, it is chance, and not far below."""
    y = normal(1200, 40, "y")
    e = Evaluation(Subject(None, y[:600]), y, None, gaussian_facts(40), Settings())
    half: Value = load("metrics", "c2st").compute(e)
    assert half.n == 1200
    assert abs(half.value - 0.5) < 4 * half.error
    with pytest.raises(Unavailable, match="as many other test events, has 0"):
        load("metrics", "c2st").compute(Evaluation(Subject(None, y), y, None, gaussian_facts(40), Settings()))


def test_a_difference_that_no_mean_shows_is_seen() -> None:
    """Two narrow modes at ±1 beside one Gaussian of the same mean and variance."""
    y = normal(4000, 2, "y")
    x = 0.2 * normal(4000, 2, "x") + math.sqrt(0.96) * torch.sign(normal(4000, 2, "side"))
    assert judge("c2st", x, y).value > 0.8


@pytest.mark.parametrize(
    ("name", "samples", "words"),
    [
        ("ksd", torch.zeros(7, 2), "needs 4 blocks of 2, has 7 samples"),
        ("c2st", torch.zeros(9, 2), "needs 10 samples and as many other test events, has 9"),
        ("entropy", torch.zeros(3, 2), "needs more than 3 samples, has 3"),
        ("entropy", torch.zeros(9, 2), "more than 3 samples are the same point"),
    ],
)
def test_too_few_samples_and_equal_ones_are_a_reason(name: str, samples: Tensor, words: str) -> None:
    with pytest.raises(Unavailable, match=words):
        judge(name, samples, normal(100, 2, "y"))


@pytest.mark.parametrize("name", ["ksd", "entropy"])
def test_binary_data_are_a_reason(name: str) -> None:
    coins = (normal(100, 4, "x") > 0).float()
    e = Evaluation(Subject(lambda x: x.sum(1), coins), coins, None, binary_facts(4), Settings())
    with pytest.raises(Unavailable, match="binary"):
        load("metrics", name).compute(e)

"""Learned Stein discrepancy: between two Gaussians the best critic and its value are known, and it is a lower bound."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.critic import Critic
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.metrics import stein
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable
from tests.conftest import binary_facts, gaussian_facts
from tests.identities import quadrature


def normal(count: int, d: int, name: str = "test") -> Tensor:
    return torch.randn(count, d, generator=stream(0, name), dtype=torch.float64)


def gaussian(shift: float, variance: float) -> Energy:
    """A model of N(0, I) with the mean `shift` in each coordinate, and a variance."""
    return lambda x: 0.5 * (x - shift).square().sum(1) / variance


def judge(energy: Energy | None, x: Tensor, scale: float = 1.0) -> Evaluation:
    return Evaluation(Subject(energy, None), x, None, gaussian_facts(x.shape[1], scale), Settings())


def divergence(shift: float, variance: float, d: int) -> float:
    """E‖s − s_data‖² over N(0, I), with s − s_data = (1 − 1/v)x + m/v."""
    return d * ((1 - 1 / variance) ** 2 + (shift / variance) ** 2)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(("shift", "variance"), [(0.0, 1.0), (0.7, 1.0), (-0.3, 0.6)])
def test_with_the_best_critic_it_is_the_fisher_divergence(shift: float, variance: float, d: int) -> None:
    """f = (s − s_data)/2λ is linear here. Expectations by quadrature: an equality."""
    x, weights = quadrature.normal(40 if d == 1 else 24, d)
    critic = Critic(d, 4)
    critic.initialise(stream(0, "critic"))
    with torch.no_grad():
        critic.linear.weight.copy_((1 - 1 / variance) / (2 * stein.PENALTY) * torch.eye(d))
        critic.linear.bias.fill_(shift / variance / (2 * stein.PENALTY))
    terms = stein.measure(critic.double(), x, -(x - shift) / variance)
    expected = divergence(shift, variance, d) / (4 * stein.PENALTY)
    assert (weights @ terms).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_the_truth_gets_zero_within_its_error(d: int) -> None:
    found = stein.compute(judge(gaussian(0.0, 1.0), normal(4000, d)))
    assert abs(found.value) <= 4 * found.error
    assert (found.value == 0) == found.protocol.endswith("no critic was better than none")


@pytest.mark.parametrize(("shift", "variance", "d"), [(1.0, 1.0, 1), (0.7, 1.0, 2), (0.0, 0.5, 2), (0.0, 0.6, 10)])
def test_of_another_gaussian_it_finds_most_of_the_divergence_and_never_more(
    shift: float, variance: float, d: int
) -> None:
    found, exact = stein.compute(judge(gaussian(shift, variance), normal(10_000, d))), divergence(shift, variance, d)
    assert 0.7 * exact - 4 * found.error < found.value < exact + 4 * found.error
    assert found.value > 8 * found.error


def test_a_mixture_that_lacks_the_right_width_shows_without_its_density() -> None:
    truth = Mixture(torch.tensor([[-2.0, 0.0], [2.0, 0.0]]), torch.ones(2), 0.5)
    x, wrong = truth.sample(10_000, stream(0, "x")), truth.smoothed(0.4)
    gap = (wrong.score(x.double()) - truth.score(x.double())).square().sum(1).mean().item()
    found = stein.compute(judge(lambda u: -wrong.log_prob(u), x))
    assert 0.6 * gap < found.value < gap + 4 * found.error


def test_a_score_without_an_energy_is_as_good_and_the_unit_does_not_matter() -> None:
    x = normal(2000, 2)
    whole = judge(gaussian(0.5, 1.0), x)
    alone = replace(whole, subject=Subject(None, None, score=lambda u: 0.5 - u))
    assert stein.compute(alone).value == pytest.approx(stein.compute(whole).value, rel=1e-9)
    wide = judge(lambda u: gaussian(0.5, 1.0)(u / 8), 8 * x, 8.0)
    assert stein.compute(wide).value == pytest.approx(stein.compute(whole).value, rel=1e-9)


def test_what_it_cannot_judge_is_a_reason() -> None:
    with pytest.raises(Unavailable, match="needs 20 test events, has 19"):
        stein.compute(judge(gaussian(0, 1), normal(19, 2)))
    with pytest.raises(Unavailable, match="score is not finite"):
        stein.compute(judge(lambda x: x.sum(1).sqrt(), normal(100, 2)))
    with pytest.raises(Unavailable, match="binary data have no score"):
        stein.compute(replace(judge(gaussian(0, 1), normal(100, 2)), facts=binary_facts(2)))


def test_it_is_measured_where_the_critic_has_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    train, measure = stein.train, stein.measure
    monkeypatch.setattr(stein, "STEPS", 20)
    monkeypatch.setattr(stein, "train", lambda z, s: seen.append(z) or train(z, s))
    monkeypatch.setattr(stein, "measure", lambda critic, z, s: seen.append(z) or measure(critic, z, s))
    found = stein.compute(judge(gaussian(0.5, 1.0), normal(400, 2)))
    learned, measured = seen[0], seen[-1]
    assert len(learned) + len(measured) == 400
    assert not (learned[:, None] == measured).all(2).any()
    assert found.n == len(measured)

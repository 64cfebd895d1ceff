"""Ranking NCE's claim: exact optima, a constant that is the same everywhere, and objectives that are wrong."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import softplus

from ebmbench.claims import rank_nce_needs_no_constant as claim
from ebmbench.claims.testing.bench import Bench
from ebmbench.core.streams import stream
from ebmbench.methods import nce, rank_nce
from ebmbench.methods.common.fixed_noise import log_ratio
from tests.claims.verdicts import FIRST, ROOT

EXACT = [criterion for criterion in claim.CLAIM.criteria if criterion.exact]


def met() -> dict[str, bool]:
    """Which exact criteria the population meets."""
    found = claim.measure("population", FIRST, Bench(ROOT))
    return {one.key: one.met_by(float(found[one.key])) for one in EXACT}


def model(contexts_alike: bool) -> tuple[Tensor, Tensor]:
    """Random features and parameters; of contexts that are alike the normaliser is the same."""
    generator = stream(0, "model")
    features = torch.randn(claim.CONTEXTS, claim.OUTCOMES, claim.FEATURES, generator=generator, dtype=torch.float64)
    truth = torch.randn(claim.FEATURES, generator=generator, dtype=torch.float64)
    return (features[:1].expand_as(features) if contexts_alike else features), truth


def test_the_exact_criteria_are_met() -> None:
    assert all(met().values())


def test_one_constant_is_enough_where_all_contexts_have_the_same_normaliser() -> None:
    features, truth = model(contexts_alike=True)
    found = claim.fit("one", features, claim.population(features, truth))
    assert float(claim.error(found, truth)) < 1e-8


def test_the_expected_losses_are_those_of_many_samples() -> None:
    features, truth = model(contexts_alike=False)
    tuples, theta = claim.population(features, truth), torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64)
    assert float(tuples.sum()) == pytest.approx(1)
    drawn = torch.multinomial(tuples.flatten(), 200_000, replacement=True, generator=stream(0, "tuples"))
    x, *y = torch.unravel_index(drawn, tuples.shape)
    s = features @ theta
    events = [torch.stack([x, one], 1) for one in y]

    def energy(u: Tensor) -> Tensor:
        return 0.4 - s[u[:, 0], u[:, 1]]

    sampled = events[0], torch.cat(events[1:])
    ranked = rank_nce.rank_noise_contrastive(energy, *sampled, claim.log_uniform)
    assert float(claim.ranking(theta, features, tuples)) == pytest.approx(float(ranked), abs=0.01)
    told = nce.noise_contrastive(energy, torch.zeros(()), *sampled, claim.log_uniform)
    constants = torch.full((claim.CONTEXTS,), 0.4, dtype=torch.float64)
    assert float(claim.binary(theta, constants, features, tuples)) == pytest.approx(float(told), abs=0.01)


def test_a_softmax_without_the_datum_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(energy: Any, x: Tensor, noise: Tensor, log_noise: Any) -> Tensor:
        on_data, on_noise = log_ratio(energy, 0.0, x, noise, log_noise)
        ranked = torch.cat([on_data[None] - 1.0, on_noise.reshape(-1, len(x))])
        return -ranked.log_softmax(0)[0].mean()

    monkeypatch.setattr(rank_nce, "rank_noise_contrastive", wrong)
    found = met()
    assert not found["rank"]
    assert found["each"]


def test_a_loss_that_is_not_proper_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(energy: Any, c: Tensor, x: Tensor, noise: Tensor, log_noise: Any) -> Tensor:
        on_data, on_noise = log_ratio(energy, c, x, noise, log_noise)
        return softplus(-1.5 * on_data).mean() + softplus(on_noise).mean()

    monkeypatch.setattr(nce, "noise_contrastive", wrong)
    found = met()
    assert not found["each"]
    assert found["rank"]

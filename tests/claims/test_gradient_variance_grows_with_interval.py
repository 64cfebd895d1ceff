"""Moments of rows, a ratio that is known, and the gradient that a fresh copy must give."""

import pytest
import torch

from ebmbench.claims import gradient_variance_grows_with_interval as claim
from ebmbench.data.common.images import image_facts
from ebmbench.experiment.data import Data
from ebmbench.models import mlp


@pytest.fixture
def data() -> Data:
    levels = torch.randint(17, (50, 1, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    facts = image_facts("small", levels, levels, 17, licence="CC0-1.0", hash="none", classes=["a"])
    return Data(levels.float() / 8 - 1, levels.float() / 8 - 1, facts)


def network(data: Data, seed: int) -> mlp.Model:
    return mlp.Model(mlp.Settings(width=8, layers=1), data.facts).initialise(torch.Generator().manual_seed(seed))


def test_spread_takes_the_noise_out_of_the_mean() -> None:
    rows = 0.1 + 2 * torch.randn(40, 5000, generator=torch.Generator().manual_seed(0))
    trace, signal = claim.spread(rows)
    assert trace == pytest.approx(4 * 5000, rel=0.02)
    assert signal == pytest.approx(0.01 * 5000, rel=0.5)  # with the noise it would be eleven times as large


def test_the_ratio_of_a_model_to_itself_does_not_vary_and_a_constant_is_no_matter(data: Data) -> None:
    model, other = network(data, 1), network(data, 1)
    with torch.no_grad():
        other.trunk.head.bias += 3
    assert claim.ratio_variance(model, model, data.train) == 0
    assert claim.ratio_variance(model, other, data.train) == pytest.approx(0, abs=1e-9)
    assert claim.ratio_variance(network(data, 2), model, data.train) > 1e-3


def test_a_fresh_copy_gives_half_of_the_likelihood_gradient(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "BATCHES", 1)
    model, noise = network(data, 1), torch.zeros(1, 1, 8, 8)
    (row,) = claim.gradients(model, model, data, noise, 9000)
    x = claim.batch(data, claim.stream(9000, "claim", claim.NAME, "variance", 0))
    contrast = (model(x).mean() - model(noise).mean()) / 2
    expected = torch.cat([one.flatten() for one in torch.autograd.grad(contrast, [*model.parameters()])])
    torch.testing.assert_close(row, expected, rtol=1e-4, atol=1e-5)

"""The laws of conditional NCE's gradient, and a loss for which they do not hold."""

import math

import pytest
import torch
from torch import Tensor

from ebmbench.claims import conditional_nce_gradients_vanish as claim
from ebmbench.claims.testing.exact_kl import divergence
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.experiment.data import Data, make_data
from ebmbench.methods import cnce
from ebmbench.models import mlp

RULE = {criterion.key: criterion for criterion in claim.CLAIM.criteria}


@pytest.fixture(scope="module")
def data() -> Data:
    density = Mixture(torch.zeros(1, 2), torch.ones(1), deviation=1.5)
    events = density.sample(4000, stream(9000, "events"))
    return make_data("cloud", events, events[:10], density)


def network(data: Data, seed: int = 9000) -> mlp.Model:
    """A confined energy: small weights, a steep quadratic."""
    settings = mlp.Settings(width=8, gain=0.5, confinement=0.5)
    return mlp.Model(settings, data.facts).initialise(stream(seed, "weights")).double()


def test_the_gradient_falls_like_the_square_at_both_ends(data: Data) -> None:
    found = claim.norms(network(data), data, 9000)
    assert found[1] / found[0] == pytest.approx(10, rel=0.3)  # half a decade of σ
    assert found[6] / found[8] > 5  # few of the noises fall among the data
    assert math.log(max(found) / found[0]) > RULE["low"].bound


def test_a_loss_in_units_of_the_noise_does_not_vanish(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = cnce.conditional_noise_contrastive

    def scaled(energy: mlp.Model, x: Tensor, noise: Tensor, sigma: float) -> Tensor:
        return plain(energy, x, noise, sigma) / sigma**2

    monkeypatch.setattr(cnce, "conditional_noise_contrastive", scaled)
    found = claim.norms(network(data), data, 9000)
    assert math.log(max(found) / found[0]) < RULE["low"].bound


def test_the_gaussian_is_its_own_best_fit_and_a_wider_one_is_not(data: Data) -> None:
    """KL(N(0, v)‖N(0, w)) in the plane is v/w − 1 − log(v/w)."""
    assert claim._of_gaussian(data) == pytest.approx(0, abs=1e-2)
    flat = network(data)
    for weight in flat.parameters():
        weight.data.zero_()
    ratio = 1.5**2 / data.facts.scale**2  # E = ½‖x/scale‖²
    centred = float((torch.tensor(data.facts.mean) ** 2).sum()) / data.facts.scale**2 / 2
    assert divergence(flat, data) == pytest.approx(ratio - 1 - math.log(ratio) + centred, abs=1e-6)

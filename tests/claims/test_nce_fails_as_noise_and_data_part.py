"""Noise that is moved away teaches nothing, and the statistics read it so."""

import numpy as np
import pytest
import torch

from ebmbench.claims import nce_fails_as_noise_and_data_part as claim
from ebmbench.core.noise import Gaussian
from ebmbench.core.streams import stream
from ebmbench.data import eight_gaussians
from ebmbench.experiment.data import Data, make_data
from ebmbench.methods import nce
from ebmbench.methods.common.fixed_noise import fit_noise


@pytest.fixture(scope="module")
def data() -> Data:
    density = eight_gaussians.density()
    events = density.sample(4000, stream(9000, "events"))
    return make_data("eight_gaussians", events, events[:10], density)


def test_the_noise_is_the_methods_own_moved_and_blown_up(data: Data) -> None:
    own = fit_noise(nce.Settings(), data.facts, data.train)
    noise = claim.trained(data, 3.0, 10.0, 9000, budget=1000).method.noise
    assert isinstance(own, Gaussian)
    assert isinstance(noise, Gaussian)
    assert float((noise.loc - own.loc).norm()) == pytest.approx(3 * data.facts.scale)
    torch.testing.assert_close(noise.covariance_matrix, 10 * own.covariance_matrix)
    near = claim.trained(data, 0.0, 1.0, 9000, budget=1000).method.noise
    torch.testing.assert_close(near.covariance_matrix, own.covariance_matrix)


def test_far_noise_costs_nothing_and_near_noise_nearly_a_coin_toss(data: Data) -> None:
    runs = [claim.trained(data, moved, 1.0, 9000, budget=60_000) for moved in (0.0, 8.0)]
    near, far = (np.mean(run.history["loss"][-5:]) for run in runs)
    assert far < 0.05 < 0.5 < near


def test_a_method_that_does_not_mind_its_noise_refutes_the_claim() -> None:
    def arms(kls: dict[str, float]) -> dict[str, dict[str, np.ndarray]]:
        return {name: {"kl": np.array(kl), "loss": np.array(1.0)} for name, kl in kls.items()}

    indifferent = claim.statistics(arms(dict.fromkeys(claim.NOISES, 0.02) | {"moved 2": 0.021, "blown 10": 0.021}))
    failing = claim.statistics(arms({name: 0.02 * 2.0**i for i, name in enumerate(claim.NOISES)}))
    for criterion in claim.CLAIM.criteria[:4]:
        assert indifferent[criterion.key] < criterion.bound < failing[criterion.key]

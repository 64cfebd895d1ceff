"""DSM's claim: its estimate is a least-squares fit, theory's numbers come out, and another noise scale is noticed."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ebmbench.claims import dsm_bias_and_variance as claim
from ebmbench.core.energy import Energy, score
from ebmbench.core.streams import stream
from ebmbench.methods import dsm
from tests.claims.verdicts import measures


def test_the_estimate_is_the_regression_of_the_noise_on_the_noisy_datum() -> None:
    generator = stream(0, "data")
    x, noise = (torch.randn(3, 50, 1, generator=generator, dtype=torch.float64) for _ in range(2))
    found = claim.estimates(x, noise, 0.3)
    for sample in range(3):
        noisy = x[sample, :, 0] + 0.3 * noise[sample, :, 0]
        features = torch.stack([noisy, -torch.ones_like(noisy)], 1)
        wanted = torch.linalg.lstsq(features, noise[sample] / 0.3).solution[:, 0]
        torch.testing.assert_close(found[sample], wanted, rtol=1e-9, atol=1e-12)


def test_bias_and_variance_are_those_of_theory(tmp_path: Path) -> None:
    found, sigma = measures(claim, tmp_path)[0]["all"], np.array(claim.SIGMAS)
    residual = 1 / sigma**2 - 1 / (1 + sigma**2)
    np.testing.assert_allclose(found["variance"], residual * (1 + 2 / (1 + sigma**2)) / claim.EVENTS, rtol=0.25)
    np.testing.assert_allclose(found["bias"], sigma**2 / (1 + sigma**2), atol=0.03)


def test_noise_that_is_not_divided_by_sigma_refutes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(energy: Energy, x: Tensor, noise: Tensor, sigma: float) -> Tensor:
        s = score(energy, x + sigma * noise, create_graph=True)
        return 0.5 * (s + noise).flatten(1).square().sum(1).mean()

    monkeypatch.setattr(dsm, "denoising_score_matching", wrong)
    found = claim.statistics(measures(claim, tmp_path)[0])
    assert found["objective"] > -2
    assert found["variance"] > -1
    assert not found["bias"] > 1

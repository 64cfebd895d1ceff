"""NCE's claim: a Gaussian's normaliser in closed form, and what bugs in the objective make of the constant."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.claims import nce_learns_log_z as claim
from ebmbench.claims.testing.bench import Bench
from ebmbench.config.sections import Training
from ebmbench.methods import nce
from ebmbench.workspace.store import Store
from tests.claims.verdicts import FIRST, ROOT

TRUTH = torch.tensor([0.0, 0.5, 0.0], dtype=torch.float64)  # a standard normal
right = nce.noise_contrastive


@pytest.mark.parametrize("ratio", claim.RATIOS)
def test_the_constant_of_a_standard_normal_is_known(ratio: int) -> None:
    c, log_z = claim.optimum(TRUTH, ratio)
    assert c == pytest.approx(0.5 * math.log(2 * math.pi), abs=1e-10)
    assert log_z == pytest.approx(c, abs=1e-10)


def test_a_ratio_of_noise_that_is_forgotten_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without − log ν in the classifier c takes log ν in: too small by just that."""

    def wrong(energy: Any, c: Tensor, x: Tensor, noise: Tensor, log_noise: Any) -> Tensor:
        return right(energy, c - math.log(len(noise) / len(x)), x, noise, log_noise)

    monkeypatch.setattr(nce, "noise_contrastive", wrong)
    c, log_z = claim.optimum(TRUTH, 4)
    assert c - log_z == pytest.approx(math.log(4), abs=1e-6)


def test_a_constant_that_does_not_learn_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def frozen(energy: Any, c: Tensor, *rest: Any) -> Tensor:
        return right(energy, c.detach() + 0 * c, *rest)

    monkeypatch.setattr(nce, "noise_contrastive", frozen)
    monkeypatch.setattr(claim, "TRAINING", Training(budget=200_000))
    bench = Bench(ROOT)
    bench.store = Store(tmp_path)
    trained = claim.measure("trained", FIRST, bench)
    assert trained["c"] == 0
    assert abs(trained["c"] - trained["log_z"]) > 0.25 * abs(trained["log_z"])

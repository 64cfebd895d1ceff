"""The Stein critic's claim: the best critic is told, and so are no critic, a wrong trace and a wrong penalty."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ebmbench.claims import stein_critic_is_the_score_gap as claim
from ebmbench.claims.testing.bench import Bench
from ebmbench.core.streams import draws, stream
from ebmbench.data.common.densities import Mixture
from ebmbench.experiment.data import Data, make_data
from ebmbench.methods import stein
from tests.claims.verdicts import FIRST, ROOT

right = stein.stein_discrepancy


class Best(nn.Module):
    """f*, as a function of the standardised place."""

    def __init__(self, method: stein.Method, truth: Mixture, wrong: Mixture) -> None:
        super().__init__()
        self.method, self.truth, self.wrong = method, truth, wrong

    def forward(self, z: Tensor) -> Tensor:
        unit = self.method.facts.unit
        x = z.double() * unit + self.method.centre.double()
        return unit * (self.wrong.score(x) - self.truth.score(x)) / (2 * self.method.settings.penalty)


def game() -> tuple[stein.Method, Mixture, Data]:
    """A method before training, the model, and the data."""
    truth, wrong = claim.mixture(FIRST, "data", 0.5), claim.mixture(FIRST, "model", 0.7)
    data = make_data("test", truth.sample(1000, stream(0, "x")), truth.sample(2, stream(0, "y")), truth)
    settings = claim.SETTINGS.model_copy(update={"penalty": 0.5})
    return stein.Method(settings, data.facts).initialise(draws(0, "start"), claim.Fixed(wrong)), wrong, data


def test_the_best_critic_reaches_the_bound_and_none_reaches_nothing() -> None:
    method, wrong, data = game()
    before = claim.judge(method, wrong, data)
    assert (before["reached"], before["error"]) == pytest.approx((0.0, 1.0))
    assert isinstance(data.density, Mixture)
    method.adversary.network = Best(method, data.density, wrong)
    best = claim.judge(method, wrong, data)
    assert (best["reached"], best["error"]) == pytest.approx((1.0, 0.0), abs=1e-5)


def ends(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Statistics after little training."""
    monkeypatch.setattr(claim, "STEPS", 150)
    monkeypatch.setattr(claim, "ROWS", 1)
    found = claim.measure("0.5", FIRST, Bench(ROOT))
    return {key: float(torch.as_tensor(found[key][-1])) for key in ("reached", "error")}


def test_a_critic_learns_and_one_with_half_the_penalty_in_training_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    good = ends(monkeypatch)
    assert good["reached"] > 0.7
    assert good["reached"] + good["error"] == pytest.approx(1, abs=1e-3)
    calls: list[Any] = []

    def lenient(s: Tensor, f: Tensor, trace: Tensor, penalty: float) -> Tensor:
        calls.append(len(s))
        return right(s, f, trace, penalty / 3 if f.requires_grad else penalty)

    monkeypatch.setattr(stein, "stein_discrepancy", lenient)
    wrong = ends(monkeypatch)
    assert calls
    assert wrong["error"] > 1


def test_a_trace_of_the_wrong_sign_breaks_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "stein_discrepancy", lambda s, f, trace, penalty: right(s, f, -trace, penalty))
    found = ends(monkeypatch)
    assert abs(found["reached"] + found["error"] - 1) > 0.1

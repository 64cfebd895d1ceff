"""FCE's claim: divergences in closed form, and a flow that is trained the wrong way."""

import math

import numpy as np
import pytest

from ebmbench.claims import fce_flow_and_energy_approach as claim
from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms
from ebmbench.claims.testing.criterion import decide_criterion
from ebmbench.data import eight_gaussians
from ebmbench.data.common.densities import Mixture
from ebmbench.methods import fce
from tests.claims.verdicts import FIRST, ROOT


def test_the_divergences_of_a_model_with_half_of_the_modes_are_known() -> None:
    data = Bench(ROOT).data(eight_gaussians, train=500, test=10)
    truth = data.density
    assert isinstance(truth, Mixture)
    assert claim.divergences(lambda x: -truth.log_prob(x), data) == pytest.approx((0.0, 0.0), abs=1e-6)
    half = Mixture(truth.centres, (0.5 + (-1.0) ** truth.weights.cumsum(0).mul(8).round() / 2) + 1e-12, truth.deviation)
    kl, js = claim.divergences(lambda x: 3.0 - half.log_prob(x), data)
    assert js == pytest.approx(0.75 * math.log(4 / 3), abs=1e-3)
    assert kl > 1


def after(budget: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[float]]:
    monkeypatch.setattr(claim, "BUDGET", budget)
    monkeypatch.setattr(claim, "CELLS", 64)
    monkeypatch.setattr(claim, "TIMES", (1.0,))
    return claim.measure("two_moons", FIRST, Bench(ROOT))


def test_a_flow_that_minimises_does_not_approach(monkeypatch: pytest.MonkeyPatch) -> None:
    good = after(200_000, monkeypatch)
    assert good["energy:kl"][1] < 0.2 * good["energy:kl"][0]
    assert good["flow:js"][1] < 0.9 * good["flow:js"][0]
    monkeypatch.setattr(fce.Method, "maximises", False)
    wrong = after(200_000, monkeypatch)
    assert wrong["flow:js"][1] > wrong["flow:js"][0]


def arms(energy: float, flow: float, js: float) -> Arms:
    """Divergences that start at 1 and end there."""
    ways = {"energy:kl": energy, "flow:kl": flow, "flow:js": js}
    one = {key: np.array([1.0] + [value] * len(claim.TIMES)) for key, value in ways.items()}
    one["energy:kl"][0] = 70.0  # where an untrained network starts does not count
    return {"two_moons": one, "eight_gaussians": {**one, "flow:kl": one["flow:kl"] ** 0}}


def test_a_flow_that_misses_modes_of_one_toy_refutes_that_criterion_alone() -> None:
    rows = [claim.statistics(arms(0.02 + 0.001 * i, 0.1, 0.2)) for i in range(3)]
    found = {one.key: decide_criterion(one, [row[one.key] for row in rows], 4).verdict for one in claim.CLAIM.criteria}
    assert found == {
        "energy": "reproduced",
        "two_moons": "reproduced",
        "eight_gaussians": "not reproduced",
        "js": "reproduced",
    }


def test_the_energy_is_held_to_the_first_flow() -> None:
    assert claim.statistics(arms(0.5, 0.1, 0.2))["energy"] == pytest.approx(math.log(0.5))

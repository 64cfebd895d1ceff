"""SSM's claim: the estimate in closed form, theory's ratio, and what bugs in either form make of the numbers."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.claims import ssm_consistent_with_larger_variance as claim
from ebmbench.claims.testing.bench import Bench
from ebmbench.config.sections import Training
from ebmbench.core.streams import stream
from ebmbench.methods import ssm
from ebmbench.workspace.store import Store
from tests.claims.verdicts import FIRST, ROOT

sliced = ssm.sliced_score_matching


def measured(work: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Of a network that has hardly been trained."""
    model, _, settings, batch = claim.TOY
    monkeypatch.setattr(claim, "TOY", (model, Training(budget=100_000), settings, batch))
    monkeypatch.setattr(claim, "DRAWS", 10)
    bench = Bench(ROOT)
    bench.store = Store(work)
    return claim.measure("two_moons", FIRST, bench)


def test_the_estimate_solves_the_normal_equations() -> None:
    """½(vᵀ(θ∘x))² − Σθᵢvᵢ² is least where mean[(v∘x)(v∘x)ᵀ] θ = mean v²."""
    x, v = (torch.randn(3, 30, 2, generator=stream(0, name), dtype=torch.float64) for name in ("x", "v"))
    for found, a, b in zip(claim.estimates(x, v), x, v, strict=True):
        wanted = torch.linalg.solve((a * b).T @ (a * b) / 30, b.square().mean(0))
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("d", [1, 8])
def test_at_the_truth_of_a_normal_the_ratio_is_that_of_theory(d: int) -> None:
    ratios = [claim._normal_ratio(d, stream(seed, "directions")) for seed in range(4)]
    assert math.fsum(ratios) / 4 == pytest.approx((d + 2) / 4, rel=0.15)


def test_both_forms_are_implicit_score_matching_and_the_plain_one_varies_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured(tmp_path, monkeypatch)
    assert found["gap"] < 1e-10
    assert found["ratio"][0][0] > 1.1


def test_a_trace_divided_by_the_dimension_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(energy: Any, x: Tensor, directions: Tensor, variance_reduced: bool) -> Tensor:
        return sliced(energy, x, directions / math.sqrt(x.shape[1]), variance_reduced)

    monkeypatch.setattr(ssm, "sliced_score_matching", wrong)
    assert measured(tmp_path, monkeypatch)["gap"] > 1e-2


def test_a_form_that_is_not_reduced_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def same(energy: Any, x: Tensor, directions: Tensor, variance_reduced: bool) -> Tensor:
        return sliced(energy, x, directions, False)

    monkeypatch.setattr(ssm, "sliced_score_matching", same)
    assert math.log(measured(tmp_path, monkeypatch)["ratio"][0][0]) < math.log(1.1)

"""CD-1's claim: its numbers at one seed, and what a wrong drift, a wrong noise or a wrong trace makes of them."""

from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from ebmbench.claims import cd_one_is_score_matching as claim
from ebmbench.methods import ssm
from ebmbench.samplers import langevin
from ebmbench.samplers.common.chain import Chain
from tests.claims.verdicts import measures

step, sliced = langevin.langevin, ssm.sliced_score_matching


def numbers(work: Path) -> dict[str, float]:
    return claim.statistics(measures(claim, work)[0])


def test_the_error_falls_as_the_square_of_the_noise(tmp_path: Path) -> None:
    found = numbers(tmp_path)
    assert 1.9 < found["steep"] == found["straight"] < 2.1
    assert found["error"] < 0.01 < 0.1 < found["control"]


def test_a_drift_twice_too_long_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(energy: Any, x: Tensor, steps: int, step_size: float, *rest: Any) -> Chain:
        return step(energy, x, steps, 2 * step_size, *rest)

    monkeypatch.setattr(langevin, "langevin", wrong)
    found = numbers(tmp_path)
    assert found["error"] > 0.01
    assert found["steep"] < 1.9


def test_a_noise_that_is_not_the_drifts_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(energy: Any, x: Tensor, steps: int, step_size: float, noise_std: float, *rest: Any) -> Chain:
        return step(energy, x, steps, step_size, 1.1 * noise_std, *rest)

    monkeypatch.setattr(langevin, "langevin", wrong)
    assert numbers(tmp_path)["error"] > 0.01


def test_a_trace_divided_by_the_dimension_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(energy: Any, x: Tensor, directions: Tensor, variance_reduced: bool) -> Tensor:
        return sliced(energy, x, directions / 2**0.5, variance_reduced)

    monkeypatch.setattr(ssm, "sliced_score_matching", wrong)
    assert numbers(tmp_path)["error"] > 0.1

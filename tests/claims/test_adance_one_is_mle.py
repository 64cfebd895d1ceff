"""AdaNCE's claim: decided as it should be on a few steps, and refuted by an adance whose gradient is not half."""

from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from ebmbench.claims import adance_one_is_mle as claim
from ebmbench.methods import adance
from tests.claims.verdicts import verdicts

right = adance.adaptive_contrast


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "STEPS", 4)


def test_it_is_reproduced(tmp_path: Path) -> None:
    assert verdicts(claim, tmp_path) == {"gap": "reproduced", "contrast": "reproduced"}


def test_a_wrong_factor_refutes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: Any) -> tuple[Tensor, dict[str, Tensor]]:
        loss, told = right(*arguments)
        return 1.01 * loss, told

    monkeypatch.setattr(adance, "adaptive_contrast", wrong)
    assert verdicts(claim, tmp_path)["gap"] == "not reproduced"


def test_a_copy_that_is_renewed_too_often_leaves_no_contrast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any 𝒦 it would be maximum likelihood: the first criterion holds for nothing, the second does not."""
    forward = adance.Method.forward

    def renewed(method: adance.Method, *arguments: Any) -> Tensor:
        method.taken.zero_()
        return forward(method, *arguments)

    monkeypatch.setattr(adance.Method, "forward", renewed)
    assert verdicts(claim, tmp_path) == {"gap": "reproduced", "contrast": "not reproduced"}

"""AdaBRM's claim: one Ψ of eight whose parts do not belong together refutes it."""

from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor

from ebmbench.claims import bregman_one_is_mle as claim
from ebmbench.methods.common.bregman import DIVERGENCES
from tests.claims.verdicts import verdicts


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "STEPS", 3)


def test_it_is_reproduced(tmp_path: Path) -> None:
    assert verdicts(claim, tmp_path) == {"gap": "reproduced", "contrast": "reproduced"}


def doubled(r: Tensor) -> Tensor:
    return 2 * r.exp()


@pytest.mark.parametrize(("part", "wrong"), [("s0", doubled), ("psi", doubled)])
def test_parts_that_are_not_of_one_psi_refute_it(
    part: str, wrong: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong S₀ is no multiple of maximum likelihood; parts of another Ψ are another multiple of it."""
    monkeypatch.setitem(DIVERGENCES, "kl", replace(DIVERGENCES["kl"], **{part: wrong}))
    assert verdicts(claim, tmp_path)["gap"] == "not reproduced"

"""Work around a loop: none is left of true gradients, and a chain that forgets everything leaves none either."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from ebmbench.claims import approximate_cd_has_no_objective as claim
from ebmbench.claims.testing.finite_states import all_states
from tests.claims.verdicts import verdicts


def test_it_is_reproduced(tmp_path: Path) -> None:
    assert set(verdicts(claim, tmp_path).values()) == {"reproduced"}


def test_the_free_energy_is_the_sum_over_hidden_units() -> None:
    w = torch.linspace(-1, 1.3, 11, dtype=torch.float64)
    v, h = all_states(claim.VISIBLE), all_states(claim.HIDDEN)
    b, c, weights = claim._unpack(w)
    marginal = ((v @ b)[:, None] + (c + v @ weights) @ h.T).logsumexp(1)
    torch.testing.assert_close(-claim.free_energy(w, v), marginal, rtol=0, atol=1e-12)


def test_block_gibbs_leaves_the_model_in_place() -> None:
    w = torch.linspace(-1, 1.3, 11, dtype=torch.float64)
    v = all_states(claim.VISIBLE)
    p = torch.softmax(-claim.free_energy(w, v), 0)
    torch.testing.assert_close(p @ claim.block_kernel(w, v), p, rtol=0, atol=1e-12)


def test_negatives_of_the_model_itself_would_follow_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the update is the gradient of KL, and there is nothing to prove."""

    def forgets(w: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(-claim.free_energy(w, v), 0).expand(len(v), -1)

    monkeypatch.setattr(claim, "block_kernel", forgets)
    assert verdicts(claim, tmp_path)["rbm"] == "not reproduced"

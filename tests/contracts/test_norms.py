"""The mean norm of scores along a chain, however many steps are looked at together."""

import pytest
import torch

from ebmbench.core.streams import stream
from ebmbench.samplers.common import norms
from ebmbench.samplers.common.norms import Norms


@pytest.mark.parametrize("kept", [1, 30, 100, 10_000])
def test_norms_are_the_means_over_chains_and_steps_and_that_of_the_last(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(norms, "KEPT", kept)
    scores = torch.randn(7, 5, 1, 2, 3, generator=stream(0, "s"), dtype=torch.float64)
    found = Norms(scores[0], 7)
    for s in scores:
        found.add(s)
    each = scores.flatten(2).norm(dim=2).mean(1)
    told = found.told()
    assert float(told["gradient_norm"]) == pytest.approx(float(each.mean()), rel=1e-12)
    assert float(told["last_gradient_norm"]) == pytest.approx(float(each[-1]), rel=1e-12)


def test_a_score_that_is_not_finite_shows_in_both() -> None:
    scores = torch.ones(3, 4, 2)
    scores[2, 1, 0] = torch.nan
    found = Norms(scores[0], 3)
    for s in scores:
        found.add(s)
    assert all(torch.isnan(value) for value in found.told().values())

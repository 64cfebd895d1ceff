"""The mean norm of scores along a chain, however many steps are looked at together."""

import pytest
import torch

from ebmbench.core.streams import stream
from ebmbench.samplers.common import chain
from ebmbench.samplers.common.chain import GradientNorms


@pytest.mark.parametrize("held", [1, 30, 100, 10_000])
def test_norms_are_the_means_over_chains_and_steps_and_that_of_the_last(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "NUMBERS_HELD", held)
    scores = torch.randn(7, 5, 1, 2, 3, generator=stream(0, "s"), dtype=torch.float64)
    found = GradientNorms(scores[0], 7)
    for s in scores:
        found.add(s)
    each = scores.flatten(2).norm(dim=2).mean(1)
    diagnostics = found.diagnostics()
    assert float(diagnostics["gradient_norm"]) == pytest.approx(float(each.mean()), rel=1e-12)
    assert float(diagnostics["last_gradient_norm"]) == pytest.approx(float(each[-1]), rel=1e-12)


def test_a_score_that_is_not_finite_shows_in_both() -> None:
    scores = torch.ones(3, 4, 2)
    scores[2, 1, 0] = torch.nan
    found = GradientNorms(scores[0], 3)
    for s in scores:
        found.add(s)
    assert all(torch.isnan(value) for value in found.diagnostics().values())

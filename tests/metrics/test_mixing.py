"""R̂ and effective sample size against ArviZ, and what they say of chains that have met and that have not."""

import math
import warnings

import numpy as np
import pytest
import torch

from ebmbench.config.sections import Metrics
from ebmbench.metrics import ess, r_hat
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable
from ebmbench.metrics.common.mixing import effective_sample_size
from ebmbench.metrics.common.mixing import r_hat as split_r_hat
from tests.conftest import gaussian_facts

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its next version
    import arviz


def chains(count: int, draws: int, correlation: float, apart: float = 0.0) -> np.ndarray:
    """Autoregressive chains with unit noise, each about a place of its own."""
    generator = np.random.default_rng(count * draws)
    noise, x = generator.normal(size=(count, draws)), np.zeros((count, draws))
    for t in range(1, draws):
        x[:, t] = correlation * x[:, t - 1] + noise[:, t]
    return x + apart * generator.normal(size=(count, 1))


CASES = [
    (4, 100, 0.0, 0.0),
    (4, 101, 0.5, 0.0),
    (64, 25, 0.9, 0.0),
    (64, 25, 0.3, 3.0),
    (4, 500, -0.5, 0.0),
    (8, 13, 0.2, 0.0),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_are_those_of_arviz(case: tuple[int, int, float, float]) -> None:
    x = chains(*case)
    assert split_r_hat(x) == pytest.approx(float(arviz.rhat(x)), rel=1e-12)
    assert effective_sample_size(x) == pytest.approx(float(arviz.ess(x, method="bulk")), rel=1e-12)


def test_chains_that_differ_in_spread_alone_are_seen() -> None:
    x = chains(8, 200, 0.0) * np.where(np.arange(8) < 4, 1.0, 5.0)[:, None]
    assert split_r_hat(x) > 1.2
    assert split_r_hat(chains(8, 200, 0.0)) < 1.02


def test_chains_that_stand_still_have_not_met() -> None:
    assert split_r_hat(np.repeat(np.arange(6.0)[:, None], 20, axis=1)) == math.inf
    assert split_r_hat(np.zeros((6, 20))) == 1.0


def evaluation(trace: torch.Tensor | None, names: tuple[str, ...] = ("energy", "x1")) -> Evaluation:
    subject = Subject(None, None, trace=trace, traced=names)
    return Evaluation(subject, torch.zeros(2, 2), None, gaussian_facts(2), Metrics())


def test_the_worst_of_what_was_traced_counts_and_is_named() -> None:
    good, bad = chains(16, 40, 0.0), chains(16, 40, 0.0, apart=4.0)
    e = evaluation(torch.from_numpy(np.stack([good, bad], axis=2)))
    assert r_hat.compute(e).value == pytest.approx(split_r_hat(bad))
    assert ess.compute(e).value == pytest.approx(effective_sample_size(bad))
    assert r_hat.compute(e).protocol == ess.compute(e).protocol == "16 chains, 40 draws; of x1"
    assert r_hat.compute(e).n == 640


@pytest.mark.parametrize(
    ("trace", "reason", "fault"),
    [
        (None, "no stationary chain was traced", ""),
        (torch.zeros(4, 7, 2), "needs 8 draws of a chain, has 7", ""),
        (torch.full((4, 20, 2), torch.nan), "the traced chains are not finite", "unmixed"),
        (torch.arange(4.0).reshape(4, 1, 1).expand(4, 20, 2), "the traced chains do not move", "unmixed"),
    ],
)
def test_without_a_usable_trace_there_is_a_reason(trace: torch.Tensor | None, reason: str, fault: str) -> None:
    with pytest.raises(Unavailable, match=reason) as raised:
        r_hat.compute(evaluation(trace))
    assert raised.value.fault == fault

"""CD_t as a divergence: the chain of the enumeration is the sampler's, and a chain of another law is seen."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from ebmbench.claims import cd_is_a_divergence as claim
from ebmbench.claims.testing import finite_states
from ebmbench.claims.testing.finite_states import all_states, pairwise_energy, sweep_kernel
from ebmbench.core.streams import stream
from ebmbench.samplers import gibbs
from tests.claims.verdicts import verdicts

right = gibbs.conditional


def test_it_is_reproduced(tmp_path: Path) -> None:
    assert set(verdicts(claim, tmp_path).values()) == {"reproduced"}


def test_a_kernel_is_a_sweep_of_the_sampler() -> None:
    x, parameters = all_states(3), torch.tensor([-1.0, -1.0, 2.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    kernel = sweep_kernel(pairwise_energy(parameters, x))
    starts = x.repeat(20_000, 1)
    chain = gibbs.gibbs(lambda v: pairwise_energy(parameters, v), starts, 1, stream(0, "test"))
    places = ((chain.x > 0) * torch.tensor([4, 2, 1])).sum(1).reshape(-1, 8)
    visited = torch.stack([torch.bincount(places[:, start], minlength=8) for start in range(8)]) / 20_000
    torch.testing.assert_close(visited.double(), kernel, atol=0.015, rtol=0)


def test_a_chain_at_another_temperature_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leads away from the model, so CD_t is negative there and the model gets no zero."""

    def warmer(present: Tensor, e: Tensor, e_flipped: Tensor) -> Tensor:
        return right(present, 0.9 * e, 0.9 * e_flipped)

    monkeypatch.setattr(finite_states, "conditional", warmer)
    found = verdicts(claim, tmp_path)
    assert found["least"] == found["truth"] == found["limit"] == "not reproduced"

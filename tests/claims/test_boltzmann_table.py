"""The Boltzmann table: known numbers, the one misprint, and a sampler that is wrong."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ebmbench.claims import boltzmann_table as claim
from ebmbench.samplers import gibbs
from tests.claims.verdicts import measures

right = gibbs.conditional


@pytest.fixture(autouse=True)
def fewer_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "CHAINS", 5000)
    monkeypatch.setattr(claim, "SWEEPS", 600)


def test_enumeration_gives_the_known_numbers() -> None:
    whole, derived = claim.enumerated()
    np.testing.assert_allclose(derived, [172.42019, 0.134680, 0.979679], atol=1e-5)
    assert whole[:, -1].sum() == pytest.approx(1, abs=1e-12)


def test_states_are_counted_in_the_order_of_the_table() -> None:
    states = torch.from_numpy(claim.table()[:, :3])
    for place, state in enumerate(states):
        assert claim._frequencies(state[None]).tolist() == [float(i == place) for i in range(8)]


def test_one_entry_is_wrong_and_it_is_the_one(tmp_path: Path) -> None:
    found = measures(claim, tmp_path)[0]
    assert np.argwhere(found["all"]["wrong"]).tolist() == [[2, 7]]
    numbers = claim.statistics(found)
    assert (numbers["energies"], numbers["probabilities"]) == (1, 0)
    assert numbers["sampled"] < 0.02 < 0.05 < numbers["control"]


def test_with_the_entry_mended_the_table_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "PRINTED", claim.PRINTED.replace("1 -1 -2  1 -3", "1 -1 -2  1 -1"))
    monkeypatch.setattr(claim, "SWEEPS", 2)
    assert claim.statistics(measures(claim, tmp_path)[0])["energies"] == 0


def test_a_sampler_at_another_temperature_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warmer(present: Tensor, e: Tensor, e_flipped: Tensor) -> Tensor:
        return right(present, 0.9 * e, 0.9 * e_flipped)

    monkeypatch.setattr(gibbs, "conditional", warmer)
    assert claim.statistics(measures(claim, tmp_path)[0])["sampled"] > 0.01

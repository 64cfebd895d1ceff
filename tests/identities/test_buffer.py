"""Buffers of chains: whose places new ends take, and that a restored buffer goes on like one that never stopped."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws
from ebmbench.methods import adance, cd, icd, mle
from ebmbench.samplers import langevin
from ebmbench.samplers.common.buffer import Buffer, Replace
from ebmbench.samplers.common.chain import Chain
from tests.conftest import gaussian_facts
from tests.identities.networks import events, network

COUNT, BATCH = 10, 4


def step(buffer: Buffer, number: int, rate: float = 0.0, batch: int = BATCH) -> tuple[Tensor, Tensor]:
    """One step, whose ends are all 100 · its number: the chains that were drawn, and the buffer afterwards."""
    seen: list[Tensor] = []

    def move(starts: Tensor) -> Chain:
        seen.append(starts.clone())
        return Chain(torch.full_like(starts, 100.0 * number))

    buffer.advance(move, -1.0 - torch.arange(float(batch))[:, None], rate, draws(0, number))
    return seen[0].flatten(), buffer.chains.flatten()


def filled(replace: Replace) -> Buffer:
    """Chains 0 … 9."""
    buffer = Buffer(COUNT, [1], replace)
    buffer.chains.copy_(torch.arange(float(COUNT))[:, None])
    buffer.begun.fill_(True)
    return buffer


def test_ends_take_the_places_of_the_chains_that_were_drawn() -> None:
    drawn, after = step(filled("drawn"), 1)
    left = [value for value in range(COUNT) if value not in drawn.tolist()]
    assert len(set(drawn.tolist())) == BATCH
    assert sorted(after.tolist()) == [*map(float, left), *[100.0] * BATCH]
    assert all(after[int(value)] == 100 for value in drawn)


def test_first_in_first_out_the_oldest_leave_and_the_drawn_stay() -> None:
    buffer = filled("oldest")
    drawn, after = step(buffer, 1)
    assert len(set(drawn.tolist())) == BATCH
    assert drawn.tolist() != [0, 1, 2, 3]  # they are drawn at random, not by age
    assert after.tolist() == [100.0] * 4 + [4, 5, 6, 7, 8, 9]
    assert step(buffer, 2)[1].tolist() == [100.0] * 4 + [200.0] * 4 + [8, 9]
    assert step(buffer, 3)[1].tolist() == [300.0] * 2 + [100.0] * 2 + [200.0] * 4 + [300.0] * 2


def test_both_draw_and_restart_the_same_chains() -> None:
    starts = [step(filled(replace), 1, rate=0.5)[0] for replace in ("drawn", "oldest")]
    assert torch.equal(*starts)
    assert 0 < int((starts[0] < 0).sum()) < BATCH


@pytest.mark.parametrize("replace", ["drawn", "oldest"])
def test_a_buffer_that_is_empty_or_smaller_than_the_batch_works(replace: Replace) -> None:
    empty = Buffer(COUNT, [1], replace)
    drawn, _ = step(empty, 1)
    assert (drawn < 0).all()
    assert int(empty.begun.sum()) == BATCH
    small = filled(replace)
    drawn, after = step(small, 1, batch=COUNT + 3)
    assert sorted(drawn.tolist()) == list(range(COUNT))
    assert after.tolist() == [100.0] * COUNT


def test_only_a_buffer_whose_oldest_leave_has_their_place_in_its_state() -> None:
    assert set(Buffer(COUNT, [1]).state_dict()) == {"chains", "begun"}
    assert set(Buffer(COUNT, [1], "oldest").state_dict()) == {"chains", "begun", "oldest"}


SHORT = {"sampler": langevin.Settings(steps=2, step_size=0.1)}
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "mle": (mle, {"buffer": 40}),
    "cd": (cd, {"persistent": True, "chains": 40}),
    "icd": (icd, {"persistent": True, "chains": 40, "unrolled": 2}),
    "adance": (adance, {"buffer": 40}),
}


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_that_is_restored_goes_on_with_the_same_chains(name: str) -> None:
    module, section = METHODS[name]
    settings = module.Settings(**SHORT, **section, replace="oldest")

    def made() -> tuple[Any, Callable[[int], None]]:
        energy = network(2)
        method = module.Method(settings, gaussian_facts(2)).initialise(draws(0, "start"), energy).double()
        return method, lambda number: method(Meter(energy), events(16, 2, seed=number), draws(0, number))

    (method, take), (twin, take_too) = made(), made()
    for number in range(4):  # 64 ends: more than a round of the buffer
        take(number)
    assert int(method.buffer.oldest) == 24
    twin.load_state_dict(copy.deepcopy(method.state_dict()))
    take(4)
    take_too(4)
    assert torch.equal(method.buffer.chains, twin.buffer.chains)
    drawn = module.Method(settings.model_copy(update={"replace": "drawn"}), gaussian_facts(2))
    assert drawn.buffer.oldest is None

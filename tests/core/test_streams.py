"""Named random streams: the name decides, and nothing else."""

import pytest
import torch

from ebmbench.core.streams import draw_ahead, draws, normal_on_cpu, stream, uniform_per_event

pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def first(*name: str | int) -> float:
    return torch.rand((), generator=stream(*name)).item()  # type: ignore[arg-type]


def test_the_same_name_gives_the_same_numbers_and_another_name_others() -> None:
    assert first(0, "noise", 1) == first(0, "noise", 1)
    assert len({first(0, "noise", 1), first(1, "noise", 1), first(0, "noise", 2), first(0, "chain", 1)}) == 4


def test_names_do_not_run_together() -> None:
    assert first(0, "a", "bc") != first(0, "ab", "c")
    assert first(1, 11) != first(11, 1)


def test_draws_are_the_streams_below_a_name() -> None:
    assert torch.rand((), generator=draws(3, "train", 7)("noise")).item() == first(3, "train", 7, "noise")


def test_the_numbers_are_pinned_so_that_old_results_can_be_made_again() -> None:
    assert torch.randint(1000, (3,), generator=stream(0, "pin")).tolist() == [319, 911, 428]


@pytest.mark.parametrize("size", [(3, 2), (16,), (5, 1, 3, 3)])
@pytest.mark.parametrize("block", [1, 2, 3, 7, 100])
def test_draws_ahead_of_a_chain_are_those_of_its_steps(size: tuple[int, ...], block: int) -> None:
    """Whatever the block: a chain on another device, which gets its noise in blocks, takes the same steps."""
    x = torch.zeros(size)

    def drawn(how: int) -> list[tuple[torch.Tensor, ...]]:
        generator = stream(0, "chain")
        return list(draw_ahead(x, 7, lambda: (normal_on_cpu(x, generator), uniform_per_event(x, generator)), how))

    assert len(drawn(block)) == 7
    for one, other in zip(drawn(block), drawn(1), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
        assert [part.shape for part in one] == [x.shape, x.shape[:1]]


@pytest.mark.parametrize("count", [3, 3000])
def test_noise_is_where_the_chain_is_however_large_it_is(count: int) -> None:
    like = torch.empty(count, 1000, device="meta")  # a device that is not the CPU, and always there
    assert all(noise.device == like.device for (noise,) in draw_ahead(like, 3, lambda: (torch.zeros(count, 1000),)))

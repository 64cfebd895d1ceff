"""Every random draw has a name: `stream(seed, "noise", "nce", 17)` is a generator that depends on that name alone.

No global generator is touched and no random state is saved: a run resumed at step 17 asks for the stream of step 17
and gets the numbers that the unbroken run had. Names are hashed (SHA-256, first 63 bits), so that nearby seeds and
steps give unrelated streams.
"""

import hashlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

BLOCK = 2**22  # numbers that are drawn ahead of a chain on another device: 16 MB

Draw = Callable[[str], torch.Generator]
"""Gives the generator of one named purpose, e.g. `draw("noise")`, at the current step of the current run."""


def stream(seed: int, *name: str | int) -> torch.Generator:
    """A CPU generator for the draw called `name` under `seed`."""
    key = "\x1f".join(map(str, (seed, *name))).encode()
    number = int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1
    return torch.Generator().manual_seed(number)


def normal_on_cpu(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal numbers of a tensor's shape and type. On the CPU, so that they are the same for every device."""
    return torch.randn(like.shape, generator=generator, dtype=like.dtype)


def uniform_per_event(like: Tensor, generator: torch.Generator) -> Tensor:
    """One number in [0, 1) for each event of `(B, *event)`, of its type, on the CPU."""
    return torch.rand(len(like), generator=generator, dtype=like.dtype)


def normal(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal numbers of a tensor's shape and type, moved to its device."""
    return normal_on_cpu(like, generator).to(like.device)


def uniform(like: Tensor, generator: torch.Generator) -> Tensor:
    """Numbers in [0, 1) of a tensor's shape and type, moved to its device."""
    return torch.rand(like.shape, generator=generator, dtype=like.dtype).to(like.device)


def draw_ahead(
    like: Tensor, steps: int, draw: Callable[[], tuple[Tensor, ...]], block: int | None = None
) -> Iterator[tuple[Tensor, ...]]:
    """Call `draw`, which draws on the CPU, for each step of a chain, and give its tensors on the device of `like`.

    For another device the numbers of many steps are moved together, so that the chain does not wait at each step.
    """
    if block is None and like.device.type == "cpu":
        yield from (draw() for _ in range(steps))
        return
    block = block or max(1, BLOCK // max(1, like.numel()))
    for start in range(0, steps, block):
        drawn = [draw() for _ in range(min(block, steps - start))]
        columns = [torch.stack(column).to(like.device, non_blocking=True) for column in zip(*drawn, strict=True)]
        yield from zip(*columns, strict=True)


def draws(seed: int, *name: str | int) -> Draw:
    """All streams below one name: `draws(0, "train", "nce", 17)("noise")`."""
    return lambda purpose: stream(seed, *name, purpose)

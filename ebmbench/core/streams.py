"""Every random draw has a name: `stream(seed, "noise", "nce", 17)` is a generator that depends on that name alone.

No global generator is touched and no random state is saved: a run resumed at step 17 asks for the stream of step 17
and gets the numbers that the unbroken run had. Names are hashed (SHA-256, first 63 bits), so that nearby seeds and
steps give unrelated streams.
"""

import hashlib
from collections.abc import Callable

import torch
from torch import Tensor

Draw = Callable[[str], torch.Generator]
"""Gives the generator of one named purpose, e.g. `draw("noise")`, at the current step of the current run."""


def stream(seed: int, *name: str | int) -> torch.Generator:
    """A CPU generator for the draw called `name` under `seed`."""
    key = "\x1f".join(map(str, (seed, *name))).encode()
    number = int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1
    return torch.Generator().manual_seed(number)


def normal(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal numbers of a tensor's shape and type: drawn on the CPU, the same for every device, and moved."""
    return torch.randn(like.shape, generator=generator, dtype=like.dtype).to(like.device)


def uniform(like: Tensor, generator: torch.Generator) -> Tensor:
    """Numbers in [0, 1) of a tensor's shape and type, drawn likewise."""
    return torch.rand(like.shape, generator=generator, dtype=like.dtype).to(like.device)


def draws(seed: int, *name: str | int) -> Draw:
    """All streams below one name: `draws(0, "train", "nce", 17)("noise")`."""
    return lambda purpose: stream(seed, *name, purpose)

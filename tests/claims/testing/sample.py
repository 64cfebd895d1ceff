"""A claim for tests, as a module: coins that land on heads with probability `bias`, and how often each seed threw."""

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ebmbench.claims.testing.claim import Claim
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.config import registry
from ebmbench.config.registry import Entry
from ebmbench.core.streams import stream

NAME = "coin_is_unfair"


def coin(bias: float, seeds: int = 6, bound: float = 0.5, logarithm: Any = "") -> types.ModuleType:
    """A claim that the coin lands on heads more often than not."""
    import torch

    module = types.ModuleType(f"ebmbench.claims.{NAME}")
    criterion = Criterion("heads", "share of heads", "above", bound, expected=0.6, logarithm=logarithm)
    module.CLAIM = Claim("Heads win.", "A coin is thrown.", seeds, (criterion,), "Throws.", ("one", "two"))
    module.thrown = []

    def measure(arm: str, seed: int, bench: object) -> dict[str, object]:
        module.thrown.append((arm, seed))
        throws = torch.rand(1000, generator=stream(seed, "coin", arm)) < bias
        return {"heads": float(throws.double().mean()), "throws": throws.numpy()}

    module.measure = measure
    module.statistics = lambda arms: {"heads": float(np.mean([arms[arm]["heads"] for arm in ("one", "two")]))}
    module.draw = lambda figure, seeds: figure.subplots().plot([arms["one"]["heads"] for arms in seeds])
    return module


@contextmanager
def known(module: types.ModuleType) -> Iterator[None]:
    """The registry knows the claim, for as long as the block lasts."""
    entry = Entry(NAME, "The coin is unfair", "Bernoulli (1713)", 1713, ("https://example.org/ars",))
    registry.entries("claims")[NAME] = entry
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        del registry.entries("claims")[NAME], sys.modules[module.__name__]

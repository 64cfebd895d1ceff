"""Events with one binary unit flipped, and how the energy changes: what methods without chains learn from.

The differences d_i = E(x) − E(x with unit i flipped) need no normaliser: log p(x_i | rest) = −softplus(d_i). All units
of an event are flipped, one at a time, or some that are drawn without replacement.
"""

import torch
from torch import Tensor

from ebmbench.core.energy import Energy
from ebmbench.core.streams import Draw


def energy_changes(energy: Energy, x: Tensor, units: Tensor) -> Tensor:
    """d_i for the units `(B, K)` of each event, `(B, K)`: 1 + K energies of each."""
    flat, count = x.flatten(1), units.shape[1]
    chosen = torch.zeros(len(x), count, flat.shape[1], dtype=x.dtype, device=x.device).scatter_(2, units[..., None], 1)
    flipped = (flat[:, None] - chosen).abs()  # |0 − 1| = 1 and |1 − 1| = 0
    both = energy(torch.cat([x, flipped.reshape(-1, *x.shape[1:])]))
    return both[: len(x), None] - both[len(x) :].reshape(len(x), count)


def draw_flips(x: Tensor, count: int | None, draw: Draw) -> Tensor:
    """Which units of each event are flipped, `(B, K)`: all of them, or `count` that are drawn."""
    units = x[0].numel()
    if count is None or count >= units:
        return torch.arange(units, device=x.device).expand(len(x), units)
    return torch.rand(len(x), units, generator=draw("units")).argsort(1)[:, :count].to(x.device)

"""Activations φ with their derivatives, for networks whose gradients are written out (`stack`, `jets`).

| | φ(a) | φ′ | φ″ |
| --- | --- | --- | --- |
| silu | a·g | g + a·q | q(2 + a(1 − 2g)) |
| softplus | log(1 + eᵃ) | g | q |
| leaky_relu | max(a, 0) + slope·min(a, 0) | 1 or slope | 0 |

with g = 1/(1 + e⁻ᵃ) and q = g(1 − g).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, silu, softplus

SLOPE = 0.2  # of LeakyReLU below zero: ours, our sources do not say theirs

Name = Literal["silu", "softplus", "leaky_relu"]


@dataclass(frozen=True)
class Activation:
    """φ; g·φ′(a) for a gradient g that comes back; and (φ, φ′, φ″) at once, and φ‴; all elementwise."""

    value: Callable[[Tensor], Tensor]
    back: Callable[[Tensor, Tensor], Tensor]
    series: Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
    third: Callable[[Tensor], Tensor]


def _silu(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    g = a.sigmoid()
    q = torch.addcmul(g, g, g, value=-1)
    h = a * g
    return h, torch.addcmul(g, a, q), torch.sub(a, h, alpha=2).add_(2).mul_(q)


def _softplus(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    g = a.sigmoid()
    return softplus(a), g, torch.addcmul(g, g, g, value=-1)


def _silu_third(a: Tensor) -> Tensor:
    g = a.sigmoid()
    q = torch.addcmul(g, g, g, value=-1)
    return torch.addcmul(3 - 6 * g, a, 1 - 6 * q).mul_(q)


def _softplus_third(a: Tensor) -> Tensor:
    g = a.sigmoid()
    return torch.addcmul(g, g, g, value=-1) * (1 - 2 * g)


def _leaky_relu(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first = torch.full_like(a, SLOPE).masked_fill_(a > 0, 1.0)
    return a * first, first, torch.zeros_like(a)


# Their first derivatives are torch's own kernels: one pass over memory.
_back = torch.ops.aten
ACTIVATIONS: dict[Name, Activation] = {
    "silu": Activation(silu, _back.silu_backward, _silu, _silu_third),
    "softplus": Activation(softplus, lambda g, a: _back.softplus_backward(g, a, 1, 20), _softplus, _softplus_third),
    "leaky_relu": Activation(
        lambda a: leaky_relu(a, SLOPE),
        lambda g, a: _back.leaky_relu_backward(g, a, SLOPE, False),
        _leaky_relu,
        torch.zeros_like,
    ),
}

"""How steep an energy is: what the norms of its layers allow, and what a search finds.

A convolution that is divided by the norm of its reshaped kernel is an operator of another norm: both are measured. A
slope that is found anywhere is a lower bound of the Lipschitz constant. A piecewise linear E has no slope of its slope
to follow, so x goes to where E grows fastest from the origin, x ← r·∇E(x)/‖∇E(x)‖: a power iteration if E were linear.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor, nn

from ebmbench.core.energy import by_autograd
from ebmbench.models.common.spectral import Spectral, operator_norm, weight_norm

SEARCH = 50  # steps of the search


@torch.no_grad()
def norms(
    layers: Sequence[nn.Module] | nn.ModuleList, size: tuple[int, int], generator: Generator
) -> dict[str, list[float]]:
    """The norm of each normalised layer, on images of `size`: of the reshaped weight, and of the operator."""
    matrix, operator = [], []
    for layer in layers:
        assert isinstance(layer, Spectral)
        plain, divisor = layer.layer, float((layer.layer.weight / layer.weight).flatten()[0])
        matrix.append(weight_norm(plain) / divisor)
        operator.append(matrix[-1])
        if isinstance(plain, nn.Conv2d):
            operator[-1] = operator_norm(plain, size, generator) / divisor
            kernel, stride, padding = plain.kernel_size[0], plain.stride[0], int(plain.padding[0])
            size = ((size[0] + 2 * padding - kernel) // stride + 1, (size[1] + 2 * padding - kernel) // stride + 1)
    return {"matrix": matrix, "operator": operator}


def steepest(energy: Callable[[Tensor], Tensor], starts: Tensor, reach: float = 1e3) -> float:
    """The largest ‖∇E‖ met from `starts` `(B, *event)` on, and far out along the gradients of E and −E."""
    best = 0.0
    for sign in (1.0, -1.0):
        x = starts
        for _ in range(SEARCH):
            slope = -sign * by_autograd(energy, x)[1]
            norm = slope.flatten(1).norm(dim=1)
            best = max(best, float(norm.max()))
            x = reach * slope / norm.reshape(-1, *[1] * (x.dim() - 1)).clamp_min(1e-30)
    return best

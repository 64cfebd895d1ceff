"""Expectations in place of sample means, through objectives that know only sample means."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

Objective = Callable[[Tensor, Tensor], Tensor]


def line(reach: float, count: int) -> tuple[Tensor, float]:
    """Equally spaced nodes `(count, 1)` and their distance: the trapezoidal rule, for what vanishes at both ends.

    For a smooth integrand its error falls faster than any power of the distance.
    """
    nodes = torch.linspace(-reach, reach, count, dtype=torch.float64)
    return nodes[:, None], 2 * reach / (count - 1)


def normal(count: int, d: int = 1) -> tuple[Tensor, Tensor]:
    """Gauss–Hermite nodes `(count^d, d)` and weights for an expectation under N(0, I): exact to degree 2·count − 1."""
    nodes, weights = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(count))
    grid = torch.cartesian_prod(*[nodes] * d).reshape(-1, d)
    products = torch.cartesian_prod(*[weights / weights.sum()] * d).reshape(-1, d).prod(1)
    return grid, products


def population(objective: Objective, nodes: Tensor, on_data: Tensor, on_noise: Tensor) -> Tensor:
    """The value of `objective(x, noise)` with data and noise of the given weights on the nodes, each of sum 1.

    The objective is a mean over data plus a mean over noise, L(x, y) = a(x) + b(y) for one event each. So
    Σ pᵢ L(xᵢ, y₀) + Σ qⱼ L(x₀, yⱼ) − L(x₀, y₀) = Σ pᵢ a(xᵢ) + Σ qⱼ b(yⱼ), at any x₀ and y₀.
    """
    first = nodes[len(nodes) // 2]

    def one(x: Tensor, y: Tensor) -> Tensor:
        return objective(x[None], y[None])

    data = torch.vmap(lambda x: one(x, first))(nodes)
    noise = torch.vmap(lambda y: one(first, y))(nodes)
    return on_data @ data + on_noise @ noise - one(first, first)

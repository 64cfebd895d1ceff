"""An energy along a chain, where weights do not change, with value and score in closed form.

A model makes one by `fixed()`, once for a whole chain. Everything that depends on weights alone (normalised layers, the
data's deviation, a noise level) is then part of the layers of f.
"""

import sys

import torch
from torch import Tensor

from ebmbench.models.common.stack import Stack

BYTES = 2**20  # of one layer's units that stay in a core's cache
IMAGES = 128  # at a time through convolutions, likewise


class ClosedForm:
    """E(x) = f(x − m) + κ‖x − m‖² `(B, *event) -> (B,)`; `flat` says whether f takes events as vectors.

    On a CPU many events go through in parts that the cache holds: an event costs the same however many there are.
    """

    def __init__(self, stack: Stack, kappa: float = 0.0, centre: Tensor | None = None, flat: bool = True) -> None:
        self.stack, self.kappa, self.centre, self.flat = stack, kappa, centre, flat
        units = stack.head.weight[0]
        rows = max(1, BYTES // (units.numel() * units.element_size())) if flat else IMAGES
        self.rows = rows if units.device.type == "cpu" else sys.maxsize

    def __call__(self, x: Tensor) -> Tensor:
        """E(x)."""
        if x.shape[0] > self.rows:
            return torch.cat([self(part) for part in x.split(self.rows)])
        z = self._input(x)
        return self._confined(z, self.stack(z)).to(x.dtype)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and −∇E(x)."""
        assert not create_graph, "weights are constants here"
        if x.shape[0] > self.rows:
            values, scores = zip(*(self.energy_and_score(part) for part in x.split(self.rows)), strict=True)
            return torch.cat(values), torch.cat(scores)
        z = self._input(x)
        value, descent = self.stack.value_and_descent(z)
        return self._confined(z, value).to(x.dtype), self._score(x, z, descent)

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        """−∇E(x), without the energy."""
        assert not create_graph, "weights are constants here"
        if x.shape[0] > self.rows:
            return torch.cat([self.score(part) for part in x.split(self.rows)])
        z = self._input(x)
        return self._score(x, z, self.stack.descent(z))

    def _input(self, x: Tensor) -> Tensor:
        """x − m, of f's type and layout. Not within the first bias, where a mean far from zero would cancel."""
        z = x.detach() if x.requires_grad else x
        if z.dtype != self.stack.dtype:
            z = z.to(self.stack.dtype)
        if not self.flat:
            return z.contiguous(memory_format=torch.channels_last)
        z = z if z.dim() == 2 else z.flatten(1)
        return z if self.centre is None else z - self.centre

    def _confined(self, z: Tensor, value: Tensor) -> Tensor:
        if not self.kappa:
            return value
        far = torch.linalg.vector_norm(z.flatten(1), dim=1)
        return value.addcmul_(far, far, value=self.kappa)

    def _score(self, x: Tensor, z: Tensor, descent: Tensor) -> Tensor:
        if self.kappa:
            descent = descent.add_(z, alpha=-2 * self.kappa)
        if descent.dtype != x.dtype:
            descent = descent.to(x.dtype)
        return descent if descent.shape == x.shape else descent.view_as(x)

"""An energy along a chain, where weights do not change: E(x) = f(x) + κ‖x − m‖², with value and score in closed form.

Whatever depends on weights alone (normalised layers, the data's mean and deviation, a noise level) has been put into
the layers of f when a model makes one of these (`fixed()`), once for a whole chain.
"""

import torch
from torch import Tensor

from ebmbench.models.stack import Stack

BYTES = 2**20  # of one layer's units that stay in a core's cache
IMAGES = 128  # at a time through convolutions, likewise


class ClosedForm:
    """The energy `(B, *event) -> (B,)`; `flat` says whether f takes events as vectors.

    The way back through f's first layer adds 2κm to −∇f already. Many events go through in parts that the cache
    holds, so that an event costs the same however many there are.
    """

    def __init__(self, stack: Stack, kappa: float = 0.0, centre: Tensor | float = 0.0, flat: bool = True) -> None:
        self.stack, self.kappa, self.centre, self.flat = stack, kappa, centre, flat
        units = stack.head.weight[0]
        self.rows = max(1, BYTES // (units.numel() * units.element_size())) if flat else IMAGES

    def __call__(self, x: Tensor) -> Tensor:
        """E(x)."""
        if x.shape[0] > self.rows:
            return torch.cat([self(part) for part in x.split(self.rows)])
        z = self._input(x)
        return self._confined(z, self.stack(z))

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and −∇E(x)."""
        assert not create_graph, "weights are constants here"
        if x.shape[0] > self.rows:
            values, scores = zip(*(self.energy_and_score(part) for part in x.split(self.rows)), strict=True)
            return torch.cat(values), torch.cat(scores)
        z = self._input(x)
        value, descent = self.stack.value_and_descent(z)
        return self._confined(z, value), self._score(x, z, descent)

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        """−∇E(x), without the energy."""
        assert not create_graph, "weights are constants here"
        if x.shape[0] > self.rows:
            return torch.cat([self.score(part) for part in x.split(self.rows)])
        z = self._input(x)
        return self._score(x, z, self.stack.descent(z))

    def _input(self, x: Tensor) -> Tensor:
        x = x.detach()
        if x.dtype != self.stack.dtype:
            x = x.to(self.stack.dtype)
        if self.flat:
            return x if x.dim() == 2 else x.flatten(1)
        return x.contiguous(memory_format=torch.channels_last)

    def _confined(self, z: Tensor, value: Tensor) -> Tensor:
        if not self.kappa:
            return value
        far = torch.linalg.vector_norm((z - self.centre).flatten(1), dim=1)
        return value.addcmul_(far, far, value=self.kappa)

    def _score(self, x: Tensor, z: Tensor, descent: Tensor) -> Tensor:
        if self.kappa:
            descent = descent.add_(z, alpha=-2 * self.kappa)
        return descent if descent.shape == x.shape else descent.reshape(x.shape)

"""Networks with noise levels: `given(sigma)` is the network at one level for all events or one for each.

With m and s the data's mean and deviation, a network gets u = (x − m)/√(s² + σ²) and t = ½ log(σ/s), which are of order
one at every level.
"""

from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn


class Inputs(NamedTuple):
    """u `(B, *event)` and t `(B,)`, and σ and √(s² + σ²), which divide events `(B, *event)`."""

    u: Tensor
    t: Tensor
    sigma: Tensor
    width: Tensor


def level_inputs(network: Any, x: Tensor, sigma: Tensor | float) -> Inputs:
    """The inputs of a network that has buffers `centre` and `scale`, at one σ for all events or one for each."""
    sigma = torch.as_tensor(sigma, dtype=x.dtype, device=x.device).reshape(-1).expand(len(x))
    width = (network.scale.square() + sigma.square()).sqrt()
    wide = (-1, *[1] * (x.dim() - 1))
    u = (x - network.centre.reshape(x.shape[1:])) / width.reshape(wide)
    return Inputs(u, 0.5 * (sigma / network.scale).log(), sigma.reshape(wide), width.reshape(wide))


class ScoreNetwork(nn.Module):
    """Base of networks that give the score as a vector: `forward(u, t)` predicts minus the noise, `(B, *event)`."""

    has_energy: ClassVar[bool] = False
    centre: Tensor
    scale: Tensor

    def given(self, sigma: Tensor | float) -> "ScoreLevel":
        """The score at a noise level, in the data's units."""
        return ScoreLevel(self, sigma)


class ScoreLevel:
    """s(·, σ), `(B, *event) -> (B, *event)`; not callable, because it has no energy."""

    def __init__(self, network: ScoreNetwork, sigma: Tensor | float) -> None:
        self.network, self.sigma = network, sigma

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        """s(x, σ); with `create_graph` it can be differentiated with respect to the weights."""
        with torch.set_grad_enabled(create_graph):
            inputs = level_inputs(self.network, x, self.sigma)
            vector: Tensor = self.network(inputs.u, inputs.t) / inputs.sigma
        return vector

"""The critic of the learned Stein discrepancy: a vector field that is long where a score is wrong.

With a score s and a vector field f, Stein's identity makes E_data[sᵀf + tr ∇f] zero for all f if s is the data's score.

    S = E[sᵀf + tr ∇f] − λ · E‖f‖²

is largest for f = (s − s_data)/2λ, and then it is E_data‖s − s_data‖²/4λ, the Fisher divergence; for any other f it is
less. A method trains against such a critic, and a metric trains one for a model that stands still.
"""

import math
from itertools import pairwise

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import silu

from ebmbench.core.torch_compat import skip_init


def stein_discrepancy(s: Tensor, f: Tensor, trace: Tensor, penalty: float) -> Tensor:
    """S for scores and critic `(B, d)` and the trace of the critic's derivative `(B,)`; `penalty` is λ."""
    return stein_terms(s, f, trace, penalty).mean()


def stein_terms(s: Tensor, f: Tensor, trace: Tensor, penalty: float) -> Tensor:
    """What each event adds to the mean, `(B,)`."""
    return (s * f).sum(1) + trace - penalty * f.square().sum(1)


def field_and_trace(critic: nn.Module, z: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """f(z) and vᵀ∇f(z)v for rows `(B, d)`, both in the graph of a loss."""
    z = z.detach().requires_grad_(True)
    f = critic(z)
    (along,) = torch.autograd.grad((f * directions).sum(), z, create_graph=True)
    return f, (along * directions).sum(1)


def signs(z: Tensor, generator: Generator) -> Tensor:
    """Rademacher directions of the shape of z, whose vᵀ∇f(z)v has the trace as its mean (Hutchinson)."""
    return 2.0 * torch.randint(2, z.shape, generator=generator).to(z) - 1.0


class Perceptron(nn.Module):
    """`(B, inputs) -> (B, outputs)` with two hidden layers; it starts at zero."""

    def __init__(self, inputs: int, width: int, outputs: int) -> None:
        super().__init__()
        sizes = [inputs, width, width, outputs]
        self.layers = nn.ModuleList(skip_init(nn.Linear, i, o) for i, o in pairwise(sizes))

    def initialise(self, generator: Generator) -> None:
        """Draw the weights: hidden layers as those of the energies, the last zero."""
        for gain, bound, layer in zip((3.0, math.sqrt(2), 0.0), (1.5, 0.0, 0.0), self.layers, strict=True):
            assert isinstance(layer, nn.Linear)
            nn.init.normal_(layer.weight, std=gain / math.sqrt(layer.in_features), generator=generator)
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """The layers one after the other."""
        first, second, last = self.layers
        output: Tensor = last(silu(second(silu(first(x)))))
        return output


class Critic(nn.Module):
    """f(z) = Az + b + a perceptron; it starts at zero."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.linear, self.perceptron = skip_init(nn.Linear, size, size), Perceptron(size, width, size)

    def initialise(self, generator: Generator) -> None:
        """Draw the perceptron's weights."""
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.perceptron.initialise(generator)

    def forward(self, z: Tensor) -> Tensor:
        """The sum of both."""
        output: Tensor = self.linear(z) + self.perceptron(z)
        return output

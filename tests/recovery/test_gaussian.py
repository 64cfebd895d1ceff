"""Every method recovers the precision of a Gaussian, in one, two and ten dimensions.

The energy is ½ xᵀPx, so the answer is known. The assertion is on the mean of the last half of the path: the last
iterate alone is noise.
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ebmbench.core.energy import Meter
from ebmbench.core.facts import Facts
from ebmbench.core.registry import load, names
from ebmbench.core.streams import draws, stream

STEPS = 600
# Chains and noise that suit one smooth mode; what a method is *for* is left to the benchmark.
SETTINGS: dict[str, dict[str, Any]] = {
    "mle": {"sampler": {"kind": "mala", "steps": 10, "step_size": 0.5}, "buffer": 1024, "rejuvenation": 0.0},
    "nce": {"ratio": 4},
}


class Quadratic(nn.Module):
    """E(x) = ½ Σ pᵢ xᵢ² with p = exp(log p)."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.log_precision = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * (self.log_precision.exp() * x.square()).sum(1)


def recovered(name: str, d: int) -> tuple[Tensor, Tensor]:
    truth = torch.linspace(1.0, 4.0, d) if d > 1 else torch.tensor([2.5])
    data = torch.randn(20_000, d, generator=stream(0, "data")) / truth.sqrt()
    facts = Facts.of("gaussian", data.numpy(), data.numpy(), licence="", hash="")
    module = load("methods", name)
    network = Quadratic(d)
    method = module.Method(module.Settings(**SETTINGS.get(name, {})), facts).initialise(draws(0, "start"), network)
    energy = Meter(network)
    optimiser = torch.optim.Adam([*network.parameters(), *method.parameters()], lr=0.05)
    path = []
    for step in range(STEPS):
        index = torch.randint(len(data), (512,), generator=stream(0, "batch", step))
        optimiser.zero_grad()
        energy.backward(method(energy, data[index], draws(0, step)))
        optimiser.step()
        path.append(network.log_precision.detach().exp())
    return torch.stack(path[STEPS // 2 :]).mean(0), truth


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("name", names("methods"))
def test_the_precision_of_a_gaussian_is_recovered(name: str, d: int) -> None:
    found, truth = recovered(name, d)
    if name == "dsm":  # its optimum is the precision of data and noise together
        sigma = 0.1 * float((1 / truth).mean().sqrt())
        truth = 1 / (1 / truth + sigma**2)
    torch.testing.assert_close(found, truth, rtol=0.12, atol=0)

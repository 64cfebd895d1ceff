"""Every method recovers the precision of a Gaussian, in one, two and ten dimensions.

The energy is ½ xᵀPx with a diagonal P, so the answer is known. The assertion is on the mean of the last half of the
path: the last iterate alone is noise. What is judged, and against what, the method says itself (`judged`, `target`):
a method that adds noise to the data learns the precision of both together. Chains and noise that suit one smooth
mode are in the method's file (`RECOVERY`).
"""

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ebmbench.config.registry import load
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import score
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from tests.conftest import labels_for, real_methods

BATCH, RATE = 512, 0.1


class Quadratic(nn.Module):
    """E(x) = ½ Σ pᵢ xᵢ² with p = exp(log p)."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.log_precision = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * (self.log_precision.exp() * x.square()).sum(1)


class Ladder(Quadratic):
    """E(x, σ) = ½ Σ xᵢ²/(1/pᵢ + σ²): the Gaussian smoothed by σ."""

    def given(self, sigma: Tensor | float) -> "Level":
        sigma = torch.as_tensor(sigma, dtype=torch.float32).reshape(-1, 1)
        return Level(1 / ((-self.log_precision).exp() + sigma.square()))


class Level:
    def __init__(self, precision: Tensor) -> None:
        self.precision = precision

    def __call__(self, x: Tensor) -> Tensor:
        return 0.5 * (self.precision * x.square()).sum(1)


class Labelled(Quadratic):
    """E(x, y) = E(x) − log p(y): labels that have nothing to do with x must not disturb."""

    def logits(self, x: Tensor) -> Tensor:
        return torch.tensor([0.3, 0.7]).log() - self(x)[:, None]


class Field(Ladder):
    """s(x, σ) as a vector."""

    def given(self, sigma: Tensor | float) -> "FieldLevel":
        return FieldLevel(super().given(sigma).precision)


class FieldLevel:
    def __init__(self, precision: Tensor) -> None:
        self.precision = precision

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        return -self.precision * x


@dataclass
class Gaussian:
    """What a method can say of its target: the data, or the data with noise."""

    variance: Tensor

    def smoothed(self, sigma: float) -> "Gaussian":
        return Gaussian(self.variance + sigma**2)


def recovered(name: str, network: Quadratic, **settings: Any) -> tuple[Tensor, Tensor]:
    d = len(network.log_precision)
    truth = torch.linspace(1.0, 4.0, d) if d > 1 else torch.tensor([2.5])
    data = torch.randn(20_000, d, generator=stream(0, "data")) / truth.sqrt()
    facts = Facts.of("gaussian", data.numpy(), data.numpy(), licence="", hash="")
    module = load("methods", name)
    chosen = module.Settings(**{**getattr(module, "RECOVERY", {}), **settings})
    method = module.Method(chosen, facts).initialise(draws(0, "start"), network)
    energy, path, steps = Meter(network), [], getattr(module, "RECOVERY_STEPS", 300)
    optimiser = torch.optim.Adam([*network.parameters(), *method.parameters()], lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        index = torch.randint(len(data), (BATCH,), generator=stream(0, "batch", step))
        optimiser.zero_grad()
        energy.backward(method(energy, data[index], draws(0, step), *labels_for(method, index)))
        optimiser.step()
        schedule.step()
        if step >= steps // 2:
            path.append(-score(module.Method.judged(chosen, network, facts), torch.eye(d)).diagonal().detach())
    expected = module.Method.target(chosen, Gaussian(1 / truth), math.sqrt((1 / truth).mean()))
    return torch.stack(path).mean(0), 1 / expected.variance


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("name", real_methods())
def test_the_precision_of_a_gaussian_is_recovered(name: str, d: int) -> None:
    module = load("methods", name)
    levels = hasattr(load("models", module.Settings().model).Model, "given")
    labelled = module.Method.needs_labels
    found, truth = recovered(name, Ladder(d) if levels else Labelled(d) if labelled else Quadratic(d))
    torch.testing.assert_close(found, truth, rtol=0.06, atol=0)


@pytest.mark.parametrize("reset", [0.0, 0.05])
def test_persistent_contrastive_divergence_recovers_it(reset: float) -> None:
    found, truth = recovered("cd", Quadratic(10), persistent=True, chains=1024, reset=reset)
    torch.testing.assert_close(found, truth, rtol=0.06, atol=0)


@pytest.mark.parametrize("d", [1, 10])
def test_a_vector_valued_score_recovers_it_too(d: int) -> None:
    for name, settings in (("ncsn", {}), ("dsm", {}), ("ssm", {"sigma": 0.3})):
        found, truth = recovered(name, Field(d), **settings)
        torch.testing.assert_close(found, truth, rtol=0.06, atol=0)

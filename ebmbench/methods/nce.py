"""Noise-contrastive estimation: tell data from noise of a known density, and the classifier holds the model.

With log p_θ(x) = −E(x) − c, where c is learned, ν noise events y per datum x, and
G(u) = log p_θ(u) − log p_n(u) − log ν:

    L = mean softplus(−G(x)) + ν · mean softplus(G(y)).

The optimum has p_θ normalised, so c tends to log Z. Gutmann & Hyvärinen (2010); Xu (2022) 2.2.3.3; Jin 4.1.
Differs from the paper: the noise is a Gaussian with the data's mean and covariance × 1.2, or uniform on a box
around the data.
"""

import math
from typing import Literal, Protocol

import torch
from pydantic import Field
from torch import Generator, Tensor, nn
from torch.distributions import Distribution, Independent, MultivariateNormal, Uniform
from torch.nn.functional import softplus

from ebmbench.core import method
from ebmbench.core.energy import Energy, Meter
from ebmbench.core.facts import Facts
from ebmbench.core.streams import Draw

PAPER = "Gutmann & Hyvärinen, Noise-contrastive estimation, AISTATS 2010"
YEAR = 2010


def noise_contrastive(energy: Energy, c: Tensor, x: Tensor, noise: Tensor, log_noise: "LogDensity") -> Tensor:
    """The loss for data `(B, *event)` and noise `(νB, *event)` under the noise's log-density."""
    ratio = len(noise) / len(x)
    both = torch.cat([x, noise])
    logits = -energy(both) - c - log_noise(both) - math.log(ratio)
    on_data, on_noise = logits[: len(x)], logits[len(x) :]
    return softplus(-on_data).mean() + ratio * softplus(on_noise).mean()


class LogDensity(Protocol):
    """log p_n, `(B, *event) -> (B,)`."""

    def __call__(self, x: Tensor, /) -> Tensor:
        """Log-density of each event."""


class Settings(method.Settings):
    """`params.yaml: methods.nce`."""

    learning_rate: float = Field(1e-2, gt=0)
    noise: Literal["gaussian", "uniform"] = "gaussian"
    ratio: int = Field(1, ge=1, description="ν, noise events per datum")
    inflation: float = Field(1.2, gt=0, description="the Gaussian noise's covariance over the data's")


class Method(method.Method):
    """Keeps the learned log-normaliser `c`."""

    settings: Settings

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.c = nn.Parameter(torch.zeros(()))
        self.noise = noise_distribution(settings, facts)

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch against fresh noise."""
        noise = _sample(self.noise, self.settings.ratio * len(x), draw("noise")).reshape(-1, *x.shape[1:])
        return noise_contrastive(energy, self.c, x, noise, self._log_noise)

    def _log_noise(self, x: Tensor) -> Tensor:
        return self.noise.log_prob(x.flatten(1))

    def health(self) -> dict[str, float]:
        """The learned constant on its way."""
        return self.learned()

    def learned(self) -> dict[str, float]:
        """c, to be compared with log Z where quadrature can give it."""
        return {"c": self.c.item()}


def noise_distribution(settings: Settings, facts: Facts) -> Distribution:
    """The noise that the settings name, fitted to the data's facts."""
    mean, covariance = torch.tensor(facts.mean), torch.tensor(facts.covariance)
    if settings.noise == "gaussian":
        return MultivariateNormal(mean, settings.inflation * covariance)
    # Four deviations to each side hold all but the farthest data of every dataset here.
    reach = 4 * settings.inflation * covariance.diagonal().sqrt()
    # Unvalidated: a datum outside the box has log-density −∞, and the classifier is rightly sure of it.
    return Independent(Uniform(mean - reach, mean + reach, validate_args=False), 1, validate_args=False)


def _sample(noise: Distribution, count: int, generator: Generator) -> Tensor:
    """torch's distributions know only the global generator: lend it a seed of ours and put it back as it was."""
    seed = int(torch.randint(2**62, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed formats a stack trace for absent GPUs
        return noise.sample((count,))

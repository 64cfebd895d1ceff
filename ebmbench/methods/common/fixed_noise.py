"""Fixed noise: events y of a known density p_n, fitted to the data once, from which data are told.

A method gives its loss of log g = −E − c − log p_n on data and on noise. Where log p_θ = −E − c is to be normalised,
c is learned (`NormalisedNoise`): it tends to log Z, which moves by d·log u when the data's unit is divided by u. So c
starts where the first model explains noise (`matched`), and nothing depends on the unit.

The noise is a Gaussian with the data's mean and covariance × 1.2, or uniform on a box around the data, or a mixture of
Gaussians about some of the data (`mixture`). The nearer noise is to data, the more there is to learn from telling them
apart: on images a single Gaussian is told from data at a glance, and teaches nothing of what is between.
"""

from typing import Literal, Protocol, Self

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.distributions import Distribution

from ebmbench.core import method
from ebmbench.core import noise as noises
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, stream
from ebmbench.samplers.common.choice import Sampler


class LogDensity(Protocol):
    """log p_n, `(B, *event) -> (B,)`."""

    def __call__(self, x: Tensor, /) -> Tensor:
        """Log-density of each event."""


def log_ratio(
    energy: Energy, c: Tensor | float, x: Tensor, noise: Tensor, log_noise: LogDensity
) -> tuple[Tensor, Tensor]:
    """log g = −E − c − log p_n on data `(B, *event)` and on noise `(νB, *event)`: `(B,)` and `(νB,)`."""
    both = torch.cat([x, noise])
    log_g = -energy(both) - c - log_noise(both)
    return log_g[: len(x)], log_g[len(x) :]


class FixedNoiseSettings(method.Settings):
    """Which noise, and how much of it."""

    learning_rate: float = Field(1e-2, gt=0)
    sampler: Sampler | None = Field(None, description="how it is sampled under sampling.own; null: as the suite says")
    noise: Literal["gaussian", "uniform", "mixture"] = "gaussian"
    ratio: int = Field(1, ge=1, description="ν, noise events per datum")
    inflation: float = Field(1.2, gt=0, description="the Gaussian noise's covariance over the data's; scales the box")
    shrinkage: float = Field(0.0, ge=0, description="share of the mean variance added to the Gaussian's diagonal")
    anchors: int = Field(1000, ge=1, description="data that the mixture's Gaussians stand about")
    width: float = Field(0.1, gt=0, description="the smallest of their deviations, in units of lengths")
    widths: int = Field(4, ge=1, description="how many deviations, each twice the one before")


class FixedNoise(method.Method):
    """Fits and draws the noise. A method gives `contrast`."""

    settings: FixedNoiseSettings
    no_binary = method.GAUSSIAN_NOISE

    def __init__(self, settings: FixedNoiseSettings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.noise: Distribution | None = None

    def observe(self, data: Tensor) -> None:
        """Fit the noise: it is made again in the same way, not kept, when a run is resumed."""
        self.noise = fit_noise(self.settings, self.facts, data)

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch against fresh noise."""
        noise = self.draw_noise(self.settings.ratio * len(x), draw("noise"))
        return self.contrast(energy, x, noise.to(x.device))

    def contrast(self, energy: Energy, x: Tensor, noise: Tensor) -> Tensor:
        """The loss for data and noise."""
        raise NotImplementedError

    def draw_noise(self, count: int, generator: torch.Generator) -> Tensor:
        """`(count, *event)`."""
        return noises.draw_noise(self._noise, count, generator).reshape(-1, *self.facts.shape)

    def log_noise(self, x: Tensor) -> Tensor:
        """log p_n of each event."""
        # The noise's own tensors stay where its samples are drawn.
        return self._noise.log_prob(x.flatten(1).cpu()).to(x.device)

    @property
    def _noise(self) -> Distribution:
        if self.noise is None:  # facts alone are enough where they hold the covariance
            self.noise = fit_noise(self.settings, self.facts, None)
        return self.noise


class NormalisedNoiseSettings(FixedNoiseSettings):
    """The noise, and where the learned constant starts."""

    matched: bool = Field(True, description="c starts where the first model explains noise; else at 0")


class NormalisedNoise(FixedNoise):
    """Fixed noise with a learned log-normaliser `c`."""

    settings: NormalisedNoiseSettings

    def __init__(self, settings: NormalisedNoiseSettings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.c = nn.Parameter(torch.zeros(()))

    @torch.no_grad()
    def initialise(self, draw: Draw, network: nn.Module) -> Self:
        """With `matched`, log p_θ = log p_n on average on noise at first: in many dimensions log Z is far from 0."""
        if self.settings.matched:
            noise = self.draw_noise(1000, draw("matching"))
            self.c.copy_((-network(noise) - self.log_noise(noise)).mean())
        return self

    def health(self) -> dict[str, float]:
        """The learned constant on its way."""
        return self.learned()

    def learned(self) -> dict[str, float]:
        """c, to be compared with log Z where quadrature can give it."""
        return {"c": self.c.item()}


def fit_noise(settings: FixedNoiseSettings, facts: Facts, data: Tensor | None) -> Distribution:
    """The noise that the settings name, fitted to the data's facts or to the data."""
    if settings.noise == "gaussian":
        return noises.fit_gaussian(facts, data, settings.inflation, settings.shrinkage)
    if settings.noise == "uniform":
        return noises.fit_box(facts, data, settings.inflation)
    assert data is not None, "a mixture stands about data"
    widths = settings.width * 2.0 ** torch.arange(settings.widths)
    return noises.fit_anchored(facts, data, settings.anchors, widths, stream(0, "nce", "anchors"))

"""Noise-contrastive estimation: tell data from noise of a known density, and the classifier holds the model.

With log p_θ(x) = −E(x) − c, where c is learned, ν noise events y per datum x, and
G(u) = log p_θ(u) − log p_n(u) − log ν:

    L = mean softplus(−G(x)) + ν · mean softplus(G(y)).

The optimum has p_θ normalised, so c tends to log Z, which moves by d·log u when the data's unit is divided by u. So c
starts where the first model explains noise (`matched`), and nothing depends on the unit. Gutmann & Hyvärinen (2010);
Xu (2022) 2.2.3.3; Jin 4.1.
Differs from the paper: the noise is a Gaussian with the data's mean and covariance × 1.2, or uniform on a box
around the data, or a mixture of Gaussians about some of the data (`mixture`). The nearer noise is to data, the more
there is to learn from telling them apart: on images a single Gaussian is told from data at a glance, and teaches
nothing of what is between.
"""

import math
from typing import Literal, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn.functional import softplus

from ebmbench.core import method
from ebmbench.core import noise as noises
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, stream
from ebmbench.samplers.common.choice import Sampler

PAPER = "Gutmann & Hyvärinen, Noise-contrastive estimation, AISTATS 2010"
YEAR = 2010
EXAMPLES = [{"noise": "uniform", "ratio": 3}]
RECOVERY = {"ratio": 4}
RECOVERY_STEPS = 900  # in ten dimensions a classifier is soon sure, and learns slowly


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
    sampler: Sampler | None = Field(None, description="how it is sampled under sampling.own; null: as the suite says")
    noise: Literal["gaussian", "uniform", "mixture"] = "gaussian"
    ratio: int = Field(1, ge=1, description="ν, noise events per datum")
    inflation: float = Field(1.2, gt=0, description="the Gaussian noise's covariance over the data's; scales the box")
    shrinkage: float = Field(0.0, ge=0, description="share of the mean variance added to the Gaussian's diagonal")
    anchors: int = Field(1000, ge=1, description="data that the mixture's Gaussians stand about")
    width: float = Field(0.1, gt=0, description="the smallest of their deviations, in units of lengths")
    widths: int = Field(4, ge=1, description="how many deviations, each twice the one before")
    matched: bool = Field(True, description="c starts where the first model explains noise; else at 0")


class Method(method.Method):
    """Keeps the learned log-normaliser `c`."""

    settings: Settings
    no_binary = method.GAUSSIAN_NOISE

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.c = nn.Parameter(torch.zeros(()))
        self.noise: Distribution | None = None

    def observe(self, data: Tensor) -> None:
        """Fit the noise: it is made again in the same way, not kept, when a run is resumed."""
        self.noise = fit_noise(self.settings, self.facts, data)

    @torch.no_grad()
    def initialise(self, draw: Draw, network: nn.Module) -> "Method":
        """With `matched`, log p_θ = log p_n on average on noise at first: in many dimensions log Z is far from 0."""
        if self.settings.matched:
            noise = noises.draw_noise(self._noise, 1000, draw("matching")).reshape(-1, *self.facts.shape)
            self.c.copy_((-network(noise) - self._log_noise(noise)).mean())
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch against fresh noise."""
        noise = noises.draw_noise(self._noise, self.settings.ratio * len(x), draw("noise")).reshape(-1, *x.shape[1:])
        return noise_contrastive(energy, self.c, x, noise.to(x.device), self._log_noise)

    def _log_noise(self, x: Tensor) -> Tensor:
        # The noise's own tensors stay where its samples are drawn.
        return self._noise.log_prob(x.flatten(1).cpu()).to(x.device)

    @property
    def _noise(self) -> Distribution:
        if self.noise is None:  # facts alone are enough where they hold the covariance
            self.noise = fit_noise(self.settings, self.facts, None)
        return self.noise

    def health(self) -> dict[str, float]:
        """The learned constant on its way."""
        return self.learned()

    def learned(self) -> dict[str, float]:
        """c, to be compared with log Z where quadrature can give it."""
        return {"c": self.c.item()}


def fit_noise(settings: Settings, facts: Facts, data: Tensor | None) -> Distribution:
    """The noise that the settings name, fitted to the data's facts or to the data."""
    if settings.noise == "gaussian":
        return noises.fit_gaussian(facts, data, settings.inflation, settings.shrinkage)
    if settings.noise == "uniform":
        return noises.fit_box(facts, data, settings.inflation)
    assert data is not None, "a mixture stands about data"
    widths = settings.width * 2.0 ** torch.arange(settings.widths)
    return noises.fit_anchored(facts, data, settings.anchors, widths, stream(0, "nce", "anchors"))

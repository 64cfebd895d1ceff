"""A coupling flow: noise that can be learned, with exact samples, log-density and entropy.

    y = m + L·T(z),   z ~ N(0, I),   log q(y) = log N(z; 0, I) − log|det ∂T/∂z| − log|det L|.

T is a chain of affine couplings (Dinh et al. 2017): each multiplies and shifts half of the coordinates by amounts that
a perceptron reads off the other half, so its inverse and its determinant cost no more than itself. m and LLᵀ are the
data's mean and covariance × 1.2 (with a little on the diagonal), and T starts as the identity: the first q is the
Gaussian noise of `nce`. In one dimension nothing is left to read from, and q stays Gaussian.

`FlowNoise` is the game of the methods that tell data from such noise: with log p_θ(x) = −E(x) − c, ν noise events per
datum and G = log p_θ − log p_n − log ν,

    L = mean softplus(−G(x)) + ν · mean softplus(G(y))

is minimised by θ and c and maximised by the flow, through its samples y and through log p_n.
"""

import math
from typing import Any, NamedTuple, Self, cast

import torch
from pydantic import Field
from torch import Generator, Tensor, nn
from torch.nn.functional import softplus

from ebmbench.core import method
from ebmbench.core.critic import Perceptron
from ebmbench.core.dataset import LARGEST, Facts
from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.noise import Gaussian
from ebmbench.core.streams import Draw
from ebmbench.methods.common.adversary import Adversary, AdversarySettings

INFLATION, SHRINKAGE = 1.2, 0.02  # of the first Gaussian: nce's, and enough for pixels that never change
BOUND = 2.0  # the largest logarithm of a coupling's factor


def fit_base(facts: Facts) -> Gaussian:
    """The Gaussian that the flow starts as; in coordinates whose covariance is not known, one of the data's scale."""
    mean, eye = torch.tensor(facts.mean), torch.eye(math.prod(facts.shape))
    covariance = torch.tensor(facts.covariance) if facts.covariance else facts.scale**2 * eye
    return Gaussian(mean, INFLATION * covariance + SHRINKAGE * facts.scale**2 * eye)


def too_large(facts: Facts) -> str | None:
    """Why a flow does not apply to a dataset, or None."""
    size = math.prod(facts.shape)
    return f"its flow is for at most {LARGEST} coordinates, and these data have {size}" if size > LARGEST else None


class Coupling(nn.Module):
    """z ↦ z·exp(a) + b on the coordinates that are not held; a and b are read off those that are."""

    held: Tensor

    def __init__(self, held: Tensor, width: int) -> None:
        super().__init__()
        self.register_buffer("held", held)
        self.reader = Perceptron(len(held), width, 2 * len(held))

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The image, and log|det| of each event."""
        a, b = self._read(z)
        return z * a.exp() + b, a.sum(1)

    def invert(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """The preimage, and log|det| of the way there."""
        a, b = self._read(y)
        return (y - b) * (-a).exp(), a.sum(1)

    def _read(self, z: Tensor) -> tuple[Tensor, Tensor]:
        a, b = self.reader(z * self.held).chunk(2, dim=1)
        return (1 - self.held) * BOUND * torch.tanh(a / BOUND), (1 - self.held) * b


class Flow(nn.Module):
    """q over events of the data's shape."""

    mean: Tensor
    root: Tensor
    inverse: Tensor

    def __init__(self, facts: Facts, couplings: int, width: int) -> None:
        super().__init__()
        base = fit_base(facts)
        self.shape = list(facts.shape)
        for name, value in (("mean", base.loc), ("root", base.root), ("inverse", base.inverse)):
            self.register_buffer(name, value, persistent=False)  # facts of the data, no state
        halves = torch.arange(len(base.loc)) % 2
        self.couplings = nn.ModuleList(Coupling((halves == i % 2).float(), width) for i in range(couplings))

    def initialise(self, generator: Generator) -> None:
        """Draw the weights of all readers."""
        for coupling in self.couplings:
            assert isinstance(coupling, Coupling)
            coupling.reader.initialise(generator)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Events for standard normal numbers `(B, d)`, and log q of each."""
        log_q = self._log_normal(z)
        for coupling in self.couplings:
            z, log_det = coupling(z)
            log_q = log_q - log_det
        return (self.mean + z @ self.root.mT).reshape(-1, *self.shape), log_q

    def log_prob(self, x: Tensor) -> Tensor:
        """log q of events."""
        z, log_q = (x.flatten(1) - self.mean) @ self.inverse.mT, x.new_zeros(len(x))
        for coupling in reversed(self.couplings):
            assert isinstance(coupling, Coupling)
            z, log_det = coupling.invert(z)
            log_q = log_q - log_det
        return log_q + self._log_normal(z)

    def sample(self, meter: Meter, count: int, draw: Draw) -> tuple[Tensor, Tensor]:
        """Events and log q of each, counted as one pass."""
        meter.count(count, kept=torch.is_grad_enabled())
        z = torch.randn(count, len(self.mean), generator=draw("noise"), dtype=self.mean.dtype)
        events: tuple[Tensor, Tensor] = self(z.to(self.mean.device))
        return events

    def explain(self, meter: Meter, x: Tensor) -> Tensor:
        """log q of given events, counted as one pass."""
        meter.count(len(x), kept=torch.is_grad_enabled())
        return self.log_prob(x)

    def _log_normal(self, z: Tensor) -> Tensor:
        constant = self.root.diagonal().log().sum() + 0.5 * z.shape[1] * math.log(2 * math.pi)
        return -0.5 * z.square().sum(1) - constant


class Noise(NamedTuple):
    """Noise `(νB, *event)`, and log p_n of the data and of the noise."""

    y: Tensor
    of_data: Tensor
    of_noise: Tensor


def contrast_with(energy: Energy, c: Tensor, x: Tensor, noise: Noise) -> Tensor:
    """L for data `(B, *event)` and noise."""
    ratio = len(noise.y) / len(x)
    log_p = -energy(torch.cat([x, noise.y])) - c - math.log(ratio)
    on_data, on_noise = log_p[: len(x)] - noise.of_data, log_p[len(x) :] - noise.of_noise
    return softplus(-on_data).mean() + ratio * softplus(on_noise).mean()


class FlowSettings(AdversarySettings):
    """The settings of a method whose adversary is a flow."""

    couplings: int = Field(6, ge=2, description="affine couplings of the flow")


class FlowMethod(method.Method):
    """Keeps the flow, which starts as a Gaussian. A method says what the flow maximises or minimises."""

    settings: FlowSettings
    no_binary = method.GAUSSIAN_NOISE
    maximises: bool

    def __init__(self, settings: FlowSettings, facts: Facts) -> None:
        super().__init__(settings, facts)
        flow = Flow(facts, settings.couplings, settings.adversary_width)
        self.adversary = Adversary(flow, settings, self.maximises)

    def initialise(self, draw: Draw, network: nn.Module) -> Self:
        """Draw the flow's weights."""
        self.flow.initialise(draw("flow"))
        return self

    @property
    def flow(self) -> Flow:
        """The adversary's network."""
        return cast(Flow, self.adversary.network)

    @classmethod
    def skip(cls, settings: Any, facts: Facts) -> str | None:
        """Binary data, and data of too many coordinates."""
        return super().skip(settings, facts) or too_large(facts)


class FlowNoise(FlowMethod):
    """Keeps the learned log-normaliser `c` too. A method gives `draw_noise`."""

    maximises = True

    def __init__(self, settings: FlowSettings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.c = nn.Parameter(torch.zeros(()))

    @torch.no_grad()
    def initialise(self, draw: Draw, network: nn.Module) -> Self:
        """c starts where log p_θ = log q on average on noise, as nce's does."""
        super().initialise(draw, network)
        y, log_q = self.flow.sample(Meter(network), 1000, draw)
        self.c.copy_((-network(y) - log_q).mean())
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """The flow learns from the batch, then the energy with fresh noise."""

        def objective(meter: Meter, draw: Draw) -> Tensor:
            return contrast_with(meter, self.c, x, self.draw_noise(meter, x, draw))

        self.last = self.adversary.learn(energy, objective, draw, self.pace)
        with torch.no_grad():
            noise = self.draw_noise(energy, x, draw)
        self.last["log_noise_of_data"] = noise.of_data.mean()
        return contrast_with(energy, self.c, x, noise)

    def draw_noise(self, meter: Meter, x: Tensor, draw: Draw) -> Noise:
        """Fresh noise for a batch, in the flow's graph if gradients are on."""
        raise NotImplementedError

    def health(self) -> dict[str, float]:
        """The learned constant on its way, the adversary, and how well the noise explains data."""
        return {**self.learned(), **super().health()}

    def learned(self) -> dict[str, float]:
        """c, to be compared with log Z where quadrature can give it."""
        return {"c": self.c.item()}

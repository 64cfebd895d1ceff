"""A control tells a model's fault from its sampler's: the same sampler, steps and kind of starts, on a known density.

- Where the data's density is known, it is the control: E = −log p. Chains that cannot mix there cannot be asked to mix
  on a model of it.
- Else it is a mixture of Gaussians around `KERNELS` training events, E = −log Σ exp(−‖x − μ‖²/2σ²), with σ = `WIDTH`
  in the unit of lengths (0.3 of a pixel's range [−1, 1] is the noise that training with kernels uses on images). σ is
  never below √η, for a Langevin step that is longer than a mode is wide is unstable on any density.
- Of binary data it is always such a mixture, known density or not: each unit of a training event flipped with
  probability `FLIP`. Its own sweeps draw the training event that a state belongs to, then a state about it.

The control's R̂ and effective sample size are those of as many chains as a trace follows. They belong to a dataset and
a sampler, not to a model, so all models share them (`Shared`).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream, uniform
from ebmbench.data.common.densities import Density
from ebmbench.experiment.recording import TRACED, run_watched
from ebmbench.experiment.samples import make_trace
from ebmbench.metrics.common.mixing import effective_sample_size, r_hat
from ebmbench.metrics.common.shared import Tensors
from ebmbench.samplers.common.chain import SamplerSettings
from ebmbench.samplers.common.choice import parse
from ebmbench.workspace.layout import PARAMS_YAML

KERNELS = 100
WIDTH = 0.3
FLIP = 0.1


class DensityEnergy:
    """E = −log p of a density that is known, with its exact score."""

    def __init__(self, density: Density) -> None:
        self.density = density

    def __call__(self, x: Tensor) -> Tensor:
        """E(x)."""
        return -self.density.log_prob(x)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and ∇ log p(x); there are no weights whose graph could be asked for."""
        return self(x), self.density.score(x)


class Kernels:
    """A mixture of Gaussians of one deviation around events `(M, *event)`, as an energy up to its constant."""

    def __init__(self, centres: Tensor, deviation: float) -> None:
        self.centres, self.deviation = centres.flatten(1), deviation

    def __call__(self, x: Tensor) -> Tensor:
        """E(x)."""
        return -self._joint(x).logsumexp(1)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x), and the pull to the centres, weighted by their responsibilities."""
        joint = self._joint(x)
        pull = (joint.softmax(1) @ self.centres.to(x) - x.flatten(1)) / self.deviation**2
        return -joint.logsumexp(1), pull.reshape(x.shape)

    def _joint(self, x: Tensor) -> Tensor:
        return -torch.cdist(x.flatten(1), self.centres.to(x)).square() / (2 * self.deviation**2)


class BinaryKernels:
    """A mixture about binary events `(M, *event)`, units flipped with probability `FLIP`, as a Boltzmann machine."""

    sweep_passes = 2

    def __init__(self, centres: Tensor) -> None:
        self.centres = centres.flatten(1)

    def __call__(self, x: Tensor) -> Tensor:
        """E(x)."""
        return self.free_energy(x)

    def free_energy(self, x: Tensor, beta: float | Tensor = 1.0) -> Tensor:
        """−log Σ_m p(x | m)^β."""
        return -(self._joint(x) * beta).logsumexp(1)

    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0) -> Tensor:
        """A training event given the state, then a state given it."""
        which = torch.multinomial((self._joint(x) * beta).softmax(1).cpu(), 1, generator=generator).squeeze(1)
        centres = self.centres.to(x)[which.to(x.device)]
        flips = uniform(centres, generator) < torch.sigmoid(torch.as_tensor(beta) * math.log(FLIP / (1 - FLIP))).to(x)
        return torch.where(flips, 1 - centres, centres).reshape(x.shape)

    def _joint(self, x: Tensor) -> Tensor:
        """log p(x | m), `(B, M)`: a distance in units, each of which costs log((1 − FLIP)/FLIP)."""
        distance = torch.cdist(x.flatten(1), self.centres.to(x), p=1)
        return distance * math.log(FLIP / (1 - FLIP)) + self.centres.shape[1] * math.log(1 - FLIP)


def run_control(run: dict[str, Any], facts: Facts, density: Density | None, train: Callable[[], Tensor]) -> Tensors:
    """R̂ and effective draws of the sampler of a run that was traced (`Samples.run`); infinite and 0 if it fails."""
    sampler = parse(run["sampler"], PARAMS_YAML, "sampling").fit_to(facts)
    energy = make_kernels(train(), sampler, facts) if density is None or facts.binary else DensityEnergy(density)
    starts = facts.starts(min(TRACED, run["chains"]), stream(0, "control", "start"), run["spread"])
    return {name: torch.tensor(value) for name, value in measure_mixing(sampler, energy, starts, facts).items()}


def measure_mixing(sampler: SamplerSettings, energy: Energy, starts: Tensor, facts: Facts) -> dict[str, float]:
    """The largest R̂ and the smallest effective sample size of what a trace follows."""
    trace = make_trace(energy, facts)
    run_watched(sampler, energy, starts, stream(0, "control", "chain"), trace=trace)
    draws = trace.stacked().double().numpy()
    followed = [draws[:, :, place] for place in range(draws.shape[2])]
    if not torch.isfinite(trace.stacked()).all():
        return {"r_hat": float("inf"), "ess": 0.0}
    return {"r_hat": max(map(r_hat, followed)), "ess": min(map(effective_sample_size, followed))}


def make_kernels(train: Tensor, sampler: SamplerSettings, facts: Facts) -> Kernels | BinaryKernels:
    """The mixture around some training events, as narrow as the sampler can bear."""
    chosen = torch.randperm(len(train), generator=stream(0, "control", "centres"))[:KERNELS]
    if facts.binary:
        return BinaryKernels(train[chosen])
    step = float(getattr(sampler, "step_size", 0.0)) ** 0.5
    return Kernels(train[chosen], max(WIDTH * facts.unit, step))

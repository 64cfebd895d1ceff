"""Metropolis-adjusted Langevin: a proposal, accepted with the probability that leaves exp(−E)/Z exactly in place.

x′ = x + d(x) + √η·ε, accepted with probability min(1, exp(−E(x′) + E(x)) · q(x | x′)/q(x′ | x)), where log q(b
| a) = −‖b − a − d(a)‖²/2η and the drift d is ½ηs(x), shortened to at most `truncation`·√η (the paper's MALTA).
Valid at any step size: too large a step is refused, not absorbed into the answer. Without the truncation a
chain that starts where the energy is steep overshoots, is refused, and never moves. Diagnostics: acceptance
rate, and the mean gradient norm along the chain and at its end.
"""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from ebmbench.core.energy import Energy, energy_and_score
from ebmbench.samplers.chain import Chain, SamplerSettings

PAPER = "Roberts & Tweedie, Exponential Convergence of Langevin Distributions, Bernoulli 2(4), 1996"
YEAR = 1996


class Settings(SamplerSettings):
    """`{kind: mala, …}` wherever `params.yaml` names a sampler."""

    kind: Literal["mala"] = "mala"
    truncation: float = Field(2.0, gt=0, description="longest drift, in units of the noise √η")

    def run(self, energy: Energy, x: Tensor, generator: Generator) -> Chain:
        """Sample with these settings."""
        return mala(energy, x, self.steps, self.step_size, self.truncation, generator)


def mala(energy: Energy, x: Tensor, steps: int, step_size: float, truncation: float, generator: Generator) -> Chain:
    """Move all chains from `x` (which is left alone) by `steps` proposals."""
    noise_std = math.sqrt(step_size)
    e, s = energy_and_score(energy, x)
    drift = _drift(s, step_size, truncation)
    accepted = total = torch.zeros(())
    for _ in range(steps):
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        proposal = x + drift + noise_std * noise
        e_new, s_new = energy_and_score(energy, proposal)
        drift_new = _drift(s_new, step_size, truncation)
        back = (x - proposal - drift_new).flatten(1).square().sum(1) / (2 * step_size)
        log_ratio = e - e_new - back + 0.5 * noise.flatten(1).square().sum(1)
        accept = torch.rand(len(x), generator=generator, dtype=x.dtype).log() < log_ratio
        wide = accept.reshape(-1, *[1] * (x.dim() - 1))
        x, s, drift = (torch.where(wide, a, b) for a, b in ((proposal, x), (s_new, s), (drift_new, drift)))
        e = torch.where(accept, e_new, e)
        accepted = accepted + accept.float().mean()
        total = total + s.flatten(1).norm(dim=1).mean()
    last = s.flatten(1).norm(dim=1).mean()
    diagnostics = {"acceptance": accepted / steps, "gradient_norm": total / steps, "last_gradient_norm": last}
    return Chain(x.detach(), diagnostics)


def _drift(s: Tensor, step_size: float, truncation: float) -> Tensor:
    """½ηs, no longer than truncation · √η."""
    drift = 0.5 * step_size * s
    length = drift.flatten(1).norm(dim=1).reshape(-1, *[1] * (s.dim() - 1))
    return drift * (truncation * math.sqrt(step_size) / length.clamp_min(1e-30)).clamp_max(1.0)

"""Contrastive divergence with its KL term: the chain's last steps are differentiated, too, instead of dropped.

Chains start at data (p₀) and have the density q_t after t Langevin steps. Contrastive divergence is
CD_t = KL(p₀‖p_θ) − KL(q_t‖p_θ). Its gradient is that of mean E(x⁺) − mean E(x⁻), x⁻ held fixed, minus the derivative of

    KL(q_t‖p) = mean E(x_t) − H(q_t) + constant     (E held fixed, x_t = x_t(θ)),

which `cd` leaves out. H is estimated by the distances to the nearest past ends, which are constants: ½D · mean log of
their mean square. Its gradient is that of −log q_t: towards fewer neighbours. With one neighbour it is the estimate of
Kozachenko & Leonenko (1987), whose gradient is as noisy as that distance is small; hence more. The loss is
cd's + λ · sign · (mean E(x_t) − H):

- `sign: -1` is the gradient of CD_t (Gagnon & Lajoie 4.4): the chains are pushed away from the model.
- `sign: 1` is what Du et al. (2021) minimise: the chains are pulled to the model, and spread by the entropy.

The way back goes through the last k = `unrolled` steps, by default through one as theirs: earlier ends are constants.
Only with all steps it is the derivative of KL(q_t‖p); each earlier step adds less, by the factor that Langevin shrinks
differences with (1 − ½ηθ for E = θx²/2). Differs from Du et al.: several neighbours, and the factor D, without which it
is no entropy. In many dimensions the estimate of H is biased, and with it what is learned: on a Gaussian in
10 dimensions the precisions come out 4 % too large.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, ValidationInfo, field_validator
from torch import Tensor, nn

from ebmbench.core import method
from ebmbench.core.contrastive import contrastive
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, score, score_through
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, normal
from ebmbench.samplers import langevin
from ebmbench.samplers.common.buffer import Buffer, Replace
from ebmbench.samplers.common.chain import Chain

PAPER = "Du, Li, Tenenbaum & Mordatch, Improved Contrastive Divergence Training of Energy-Based Models, ICML 2021"
YEAR = 2021
LINK = "https://proceedings.mlr.press/v139/du21b.html"
REMARK = "As `cd`, but the end of its chains is differentiated: the true gradient, or that of Du et al. (`sign`)."
EXAMPLES = [{"sign": -1, "persistent": True, "chains": 40}, {"unrolled": 3}]
RECOVERY = {"sampler": {"kind": "langevin", "steps": 5, "step_size": 0.02}, "weight": 0.1}


def last_steps(
    energy: Energy, x: Tensor, noises: Sequence[Tensor], step_size: float, limits: langevin.Limits
) -> Tensor:
    """x ← x − ½·η·∇E(x) + noise for each noise, in the graph of the weights; where it starts is a constant."""
    for number, noise in enumerate(noises):
        drift = score_through(energy, x) if number else score(energy, x, create_graph=True)
        if limits.clip is not None:
            drift = drift.clamp(-limits.clip, limits.clip)
        x = x + 0.5 * step_size * drift + noise
        x = x if limits.box is None else x.clamp(-limits.box, limits.box)
    return x


def follow_energy(energy: Energy, x: Tensor) -> Tensor:
    """Zero, with the gradient of mean E(x) through x alone."""
    slope = -score(energy, x.detach())
    along = (slope * x).flatten(1).sum(1).mean()
    return along - along.detach()


def neighbour_entropy(x: Tensor, past: Tensor, neighbours: int) -> Tensor:
    """½D · mean log of the mean square distance to the nearest past ends: the entropy but for a constant."""
    points, others = x.flatten(1), past.flatten(1)
    index = torch.cdist(points.detach(), others).topk(min(neighbours, len(others)), largest=False, sorted=False).indices
    squares = (points[:, None] - others[index]).square().sum(2).mean(1)
    return 0.5 * points.shape[1] * squares.clamp_min(torch.finfo(x.dtype).tiny).log().mean()


class Settings(method.Settings):
    """`params.yaml: methods.icd`."""

    learning_rate: float = Field(1e-2, gt=0)
    sampler: langevin.Settings = langevin.Settings(steps=10, step_size=0.02)
    unrolled: int = Field(1, ge=1, validate_default=True, description="k, last steps that are differentiated")
    weight: float = Field(1.0, ge=0, description="λ of the KL term; 0: cd")
    sign: Literal[-1, 1] = Field(1, description="-1: the true gradient of CD; 1: that of Du et al.")
    memory: int = Field(2_000, ge=1, description="past ends of chains among which neighbours are looked for")
    neighbours: int = Field(50, ge=1, description="past ends whose distances give the entropy; 1: as Du et al.")
    persistent: bool = Field(False, description="chains go on between steps, as in PCD")
    chains: int = Field(2_000, ge=1, description="persistent chains")
    reset: float = Field(0.05, ge=0, le=1, description="fraction of drawn persistent chains that restart at data")
    replace: Replace = "drawn"

    @field_validator("unrolled")
    @classmethod
    def _at_most_all(cls, unrolled: int, info: ValidationInfo) -> int:
        if "sampler" in info.data and unrolled > info.data["sampler"].steps:
            raise ValueError(f"at most sampler.steps, which is {info.data['sampler'].steps}")
        return unrolled


class Method(method.Method):
    """Keeps past ends of chains, and chains if they are persistent."""

    settings: Settings
    no_binary = "it differentiates its chains, and binary chains jump"
    past: Tensor
    kept: Tensor

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.sampler = settings.sampler.fit_to(facts)
        self.buffer = Buffer(settings.chains if settings.persistent else 0, facts.shape, settings.replace)
        self.register_buffer("past", torch.zeros(settings.memory, *facts.shape))
        self.register_buffer("kept", torch.tensor(0))

    def initialise(self, draw: Draw, network: nn.Module) -> "Method":
        """Chains start when they are drawn first."""
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch against the ends of its chains, and the KL term of the last steps."""
        moved: list[Tensor] = []
        limits, given = langevin.Limits(self.sampler.clip, self.sampler.box), self.sampler.noise_std
        noise_std = math.sqrt(self.sampler.step_size) if given is None else given

        def move(starts: Tensor) -> Chain:
            before = self._before(energy, starts, draw)
            generator = draw("last")
            noises = [noise_std * normal(before.x, generator) for _ in range(self.settings.unrolled)]
            moved.append(last_steps(energy, before.x, noises, self.sampler.step_size, limits))
            return Chain(moved[0].detach(), before.diagnostics)

        persistent = self.settings.persistent
        chain = self.buffer.advance(move, x, self.settings.reset, draw) if persistent else move(x)
        loss, gap = contrastive(energy, x, chain.x)
        self.last = {"energy_gap": gap, **chain.columns()}
        return loss + self.settings.weight * self.settings.sign * self._divergence(energy, moved[0])

    def _before(self, energy: Meter, starts: Tensor, draw: Draw) -> Chain:
        """All steps but the last ones."""
        steps = self.sampler.steps - self.settings.unrolled
        if not steps:
            return Chain(starts)
        shorter = self.sampler.model_copy(update={"steps": steps})
        return shorter.run(energy, starts, draw("chain"))

    def _divergence(self, energy: Meter, ends: Tensor) -> Tensor:
        """KL(q_t‖p) but for a constant, as a function of the ends; they are remembered for the next steps."""
        past = self.past[: int(self.kept)]
        entropy = neighbour_entropy(ends, past, self.settings.neighbours) if len(past) else ends.new_zeros(())
        if len(past):
            self.last["chain_entropy"] = entropy.detach()
        self._remember(ends.detach())
        return follow_energy(energy, ends) - entropy

    @torch.no_grad()
    def _remember(self, ends: Tensor) -> None:
        """The newest ends first; the oldest leave."""
        self.past.copy_(torch.cat([ends, self.past])[: len(self.past)])
        self.kept.fill_(min(len(self.past), int(self.kept) + len(ends)))

    @classmethod
    def starts_at_data(cls, settings: Settings) -> bool:
        """Always."""
        return True

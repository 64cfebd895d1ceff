"""torchebm, as its README trains and samples.

Its Langevin step is x − η′∇E + √(2η′)·ε, so η′ = η/2 with `noise_scale` 1 is the same step; no diagnostics are asked
for. It has no MALA, but Hamiltonian Monte Carlo with one leapfrog step of ε = √η is the same proposal under the same
rule. Weights are frozen where chains alone are timed; in training its losses call the sampler themselves and leave
them as they are. The training loop is its README's: batch, loss, `zero_grad`, `backward`, Adam (fused, for everybody),
without the metrics of its trainer class. The energy penalty, on by default, is off: ours is. A persistent buffer has
as many chains as ours, started by `initialize_buffer` with noise as wide as ours; what its `new_sample_ratio` calls
new is a perturbation by 0.01. Sliced score matching has one Rademacher projection, and no variant of less variance. It
has no noise-contrastive estimation and no annealed importance sampling.
"""

import math

import torch
from torch import Tensor, nn
from torchebm.core import BaseModel
from torchebm.losses import ContrastiveDivergence, DenoisingScoreMatching, SlicedScoreMatching
from torchebm.samplers import HamiltonianMonteCarlo, LangevinDynamics
from torchebm.utils.ema import EMA

from benchmarks.speed.contenders.contender import Contender
from benchmarks.speed.contenders.plain import copy_plain
from benchmarks.speed.problems import Problem
from benchmarks.speed.timing import Work
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer

METHODS = ("mle", "cd", "dsm", "ssm")


class Energy(BaseModel):
    """A plain network as torchebm wants it."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        return self.network(x)


class Torchebm(Contender):
    """torchebm."""

    name = "torchebm"

    def langevin(self, problem: Problem) -> Work:
        """Its sampler, by default with the Euler–Maruyama integrator."""
        sampler = make_sampler("langevin", Energy(problem.plain), problem.step_size)
        return lambda steps: sampler.sample(x=problem.x, n_steps=steps)

    def mala(self, problem: Problem) -> Work:
        """Hamiltonian Monte Carlo with one leapfrog step."""
        sampler = make_sampler("mala", Energy(problem.plain), problem.step_size)
        return lambda steps: sampler.sample(x=problem.x, n_steps=steps)

    def learner(self, job: Job, data: Tensor, average: bool = False) -> "Learner | None":
        """Its README's loop."""
        return Learner(job, data, average) if job.method in METHODS else None


def make_sampler(kind: str, energy: Energy, step_size: float) -> LangevinDynamics | HamiltonianMonteCarlo:
    """Its sampler that does what ours of that kind does."""
    if kind == "mala":
        return HamiltonianMonteCarlo(energy, step_size=math.sqrt(step_size), n_leapfrog_steps=1)
    return LangevinDynamics(energy, step_size=step_size / 2, noise_scale=1.0)


def make_loss(job: Job, energy: Energy) -> nn.Module:
    """Its loss with the settings of a job of ours."""
    settings = job.settings
    if job.method == "dsm":
        return DenoisingScoreMatching(energy, noise_scale=settings.sigma * job.facts.unit)
    if job.method == "ssm":
        return SlicedScoreMatching(energy, n_projections=settings.projections)
    fitted = settings.sampler.fit_to(job.facts)
    sampler = make_sampler(fitted.kind, energy, fitted.step_size)
    persistent = job.method == "mle" or settings.persistent
    more = {"energy_reg_weight": 0.0, "init_steps": 0}
    if not persistent:
        return ContrastiveDivergence(energy, sampler, k_steps=fitted.steps, **more)
    size, rate = (settings.buffer, settings.rejuvenation) if job.method == "mle" else (settings.chains, settings.reset)
    more |= {"persistent": True, "buffer_size": size, "new_sample_ratio": rate}
    loss = ContrastiveDivergence(energy, sampler, k_steps=fitted.steps, **more)
    loss.initialize_buffer(tuple(job.facts.shape), init_noise_scale=1.5 * job.facts.scale)
    return loss


class Learner:
    """The documented loop; with `average`, its moving average of weights is kept too, as its documents show."""

    done = False

    def __init__(self, job: Job, data: Tensor, average: bool = False) -> None:
        torch.manual_seed(job.seed)
        self.data, self.batch = data, job.training.batch_size
        self.energy = Energy(copy_plain(Trainer(job, data).model))
        self.loss = make_loss(job, self.energy)
        betas = (job.training.beta1, 0.999)
        self.optimiser = torch.optim.Adam(
            self.energy.parameters(), lr=job.settings.learning_rate, betas=betas, fused=True
        )
        self.average = EMA(self.energy, job.training.ema, "warmup") if average else None

    def advance(self, steps: int) -> None:
        """Contrastive losses give back their negatives too."""
        for _ in range(steps):
            loss = self.loss(self.data[torch.randint(len(self.data), (self.batch,))])
            loss = loss[0] if isinstance(loss, tuple) else loss
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            if self.average is not None:
                self.average.update(self.energy)

    def networks(self) -> list[nn.Module]:
        """As trained, and averaged."""
        return [self.energy.network, *([] if self.average is None else [self.average.module.network])]

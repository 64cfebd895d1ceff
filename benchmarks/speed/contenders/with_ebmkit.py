"""ebmkit, by its samplers, its losses and its `Trainer`.

Its Langevin step is x − η′∇E + √(2η′)·ε, so η′ = η/2 is the same step; it freezes weights during sampling by itself.
`Trainer.fit` is its documented way to train: it draws batches, and keeps a history of metrics at every step, which
cannot be turned off. It is given fused Adam, as everybody is. Its contrastive divergence starts chains where `init_fn`
says, which by default is noise; here it draws data, though not the batch itself. A persistent buffer has as many chains
as ours and restarts them at the same rate from the same noise (mle) or from data (pcd). Noise-contrastive estimation is
against the same Gaussian. Sliced score matching has Gaussian projections, the only kind there is, and less variance.

Annealing takes the same base, as many chains and temperatures, and Hamiltonian transitions of as many leapfrog steps
(in float32; ours are in float64). It adapts its step as it goes, where ours has a pilot.
"""

from collections.abc import Callable

import ebm
import torch
from ebm.samplers.base import Sampler
from torch import Tensor, nn
from torch.distributions import MultivariateNormal

from benchmarks.speed.contenders.contender import Contender
from benchmarks.speed.contenders.plain import copy_plain
from benchmarks.speed.problems import Problem
from benchmarks.speed.timing import Work
from ebmbench.config.sections import Annealing
from ebmbench.core.dataset import Facts
from ebmbench.metrics.common.annealing import LEAPFROG
from ebmbench.metrics.common.annealing_base import WIDER
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer

METHODS = ("mle", "cd", "dsm", "ssm", "nce")


class Ebmkit(Contender):
    """ebmkit."""

    name = "ebmkit"

    def langevin(self, problem: Problem) -> Work:
        """Its unadjusted sampler."""
        sampler = make_sampler("langevin", problem.step_size)
        return lambda steps: sampler.sample(problem.plain, problem.x, steps=steps)

    def mala(self, problem: Problem) -> Work:
        """Its adjusted sampler, which computes the gradient of where it is again at every step."""
        sampler = make_sampler("mala", problem.step_size)
        return lambda steps: sampler.sample(problem.plain, problem.x, steps=steps)

    def learner(self, job: Job, data: Tensor, average: bool = False) -> "Learner | None":
        """Its trainer."""
        return Learner(job, data, average) if job.method in METHODS else None

    def annealing(self, problem: Problem, settings: Annealing) -> Work:
        """Forward chains."""
        facts, base = problem.facts, make_gaussian(problem.facts, WIDER**2)
        size = {"n_temps": settings.temperatures, "n_chains": settings.chains}

        def work(units: int) -> object:
            sampler = ebm.HMC(step_size=0.1, leapfrog_steps=LEAPFROG)
            return [
                ebm.ais_log_z(problem.plain, tuple(facts.shape), base=base, sampler=sampler, **size)
                for _ in range(units)
            ]

        return work


def make_gaussian(facts: Facts, inflation: float) -> MultivariateNormal:
    """The data's moments, the covariance times a factor."""
    covariance = inflation * torch.tensor(facts.covariance)
    return MultivariateNormal(torch.tensor(facts.mean), covariance, validate_args=False)


def make_sampler(kind: str, step_size: float, steps: int = 1) -> Sampler:
    """Its sampler that does what ours of that kind does."""
    return {"langevin": ebm.LangevinDynamics, "mala": ebm.MALA}[kind](step_size=step_size / 2, steps=steps)


def make_loss(job: Job, data: Tensor) -> nn.Module:
    """Its loss with the settings of a job of ours."""
    settings = job.settings
    if job.method == "dsm":
        return ebm.DenoisingScoreMatching(sigma=settings.sigma * job.facts.unit)
    if job.method == "ssm":
        return ebm.SlicedScoreMatching(n_projections=settings.projections, vr=settings.variance_reduced)
    if job.method == "nce":
        return ebm.NoiseContrastiveEstimation(make_gaussian(job.facts, settings.inflation), noise_ratio=settings.ratio)
    fitted, start = settings.sampler.fit_to(job.facts), make_start(job, data)
    sampler = make_sampler(fitted.kind, fitted.step_size, fitted.steps)
    if job.method == "cd" and not settings.persistent:
        return ebm.ContrastiveDivergence(sampler, init_fn=start)
    size, rate = (settings.buffer, settings.rejuvenation) if job.method == "mle" else (settings.chains, settings.reset)
    buffer = ebm.ReplayBuffer(size, tuple(job.facts.shape), reinit_prob=rate, init_fn=start)
    return ebm.ContrastiveDivergence(sampler, buffer=buffer)


def make_start(job: Job, data: Tensor) -> Callable[[tuple[int, ...]], Tensor]:
    """Where chains start: noise as wide as ours, or data."""
    if job.method == "mle":
        return lambda shape: 1.5 * job.facts.scale * torch.randn(shape)
    return lambda shape: data[torch.randint(len(data), (shape[0],))]


class Learner:
    """`Trainer.fit`, some steps at a time; with `average`, its moving average of weights is kept too."""

    done = False

    def __init__(self, job: Job, data: Tensor, average: bool = False) -> None:
        torch.manual_seed(job.seed)
        self.data, self.batch = data, job.training.batch_size
        energy, loss = copy_plain(Trainer(job, data).model), make_loss(job, data)
        rate, betas = job.settings.learning_rate, (job.training.beta1, 0.999)
        adam = torch.optim.Adam([*energy.parameters(), *loss.parameters()], lr=rate, betas=betas, fused=True)
        self.trainer = ebm.Trainer(energy, loss, adam, device="cpu", ema_decay=job.training.ema if average else None)

    def advance(self, steps: int) -> None:
        """Silently."""
        self.trainer.fit(self.data, steps=steps, batch_size=self.batch, verbose=False)

    def networks(self) -> list[nn.Module]:
        """As trained, and averaged."""
        average = self.trainer.ema
        return [self.trainer.energy, *([] if average is None else [average.module])]

"""The bare loop: what one would write by hand with nothing but torch.

Chains: weights are frozen, spectral norms are folded into them, noise comes from the global generator, and nothing is
counted or checked. One gradient a step; the adjusted sampler remembers energy and gradient of its present state.

Training: batch, loss, backward, Adam, and nothing else. Network, first weights and settings are those of the job.
"""

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from benchmarks.speed.contenders.contender import BARE, Contender
from benchmarks.speed.contenders.plain import copy_plain
from benchmarks.speed.problems import Problem
from benchmarks.speed.timing import Work
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer


class Bare(Contender):
    """Nothing but torch."""

    name = BARE

    def langevin(self, problem: Problem) -> Work:
        """The loop below."""
        return lambda steps: langevin(problem.plain, problem.x, steps, problem.step_size)

    def mala(self, problem: Problem) -> Work:
        """The loop below."""
        return lambda steps: mala(problem.plain, problem.x, steps, problem.step_size)

    def learner(self, job: Job, data: Tensor, average: bool = False) -> "Learner | None":
        """A training loop of ten lines."""
        return Learner(job, data) if find_loss(job) is not None else None

    def log_z(self, problem: Problem, cells: int) -> Work:
        """One expression, on a grid that is not checked."""
        network = copy.deepcopy(problem.plain).double()
        return lambda units: [log_z(network, 4 * problem.facts.scale, cells) for _ in range(units)]


def langevin(network: nn.Module, x: Tensor, steps: int, step_size: float) -> Tensor:
    """x ← x − ½η∇E(x) + √η·ε."""
    noise_std = math.sqrt(step_size)
    for _ in range(steps):
        x = x.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(network(x).sum(), x)
        x = x.detach() - 0.5 * step_size * gradient + noise_std * torch.randn_like(x)
    return x


def mala(network: nn.Module, x: Tensor, steps: int, step_size: float) -> Tensor:
    """The same as a proposal, accepted by Metropolis' rule."""
    e, gradient = _slope(network, x)
    for _ in range(steps):
        noise = torch.randn_like(x)
        there = x - 0.5 * step_size * gradient + math.sqrt(step_size) * noise
        e_there, gradient_there = _slope(network, there)
        back = (x - there + 0.5 * step_size * gradient_there).square().sum(1) / (2 * step_size)
        accept = torch.rand_like(e).log() < e - e_there - back + 0.5 * noise.square().sum(1)
        x, gradient = (torch.where(accept[:, None], a, b) for a, b in ((there, x), (gradient_there, gradient)))
        e = torch.where(accept, e_there, e)
    return x


def _slope(network: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.detach().requires_grad_(True)
    e = network(x)
    return e.detach(), torch.autograd.grad(e.sum(), x)[0]


@torch.no_grad()
def log_z(network: nn.Module, half_width: float, cells: int) -> float:
    """The midpoint rule on a square about 0, all points at once."""
    axis = ((torch.arange(cells, dtype=torch.float64) + 0.5) / cells * 2 - 1) * half_width
    points = torch.cartesian_prod(axis, axis)
    return float((-network(points)).logsumexp(0)) + 2 * math.log(2 * half_width / cells)


class Learner:
    """A training loop with one loss."""

    done = False

    def __init__(self, job: Job, data: Tensor) -> None:
        torch.manual_seed(job.seed)
        self.job, self.data = job, data
        self.network = copy_plain(Trainer(job, data).model)
        self.c = torch.zeros((), requires_grad=True)
        settings = job.settings
        rate, betas = settings.learning_rate, (job.training.beta1, 0.999)
        self.optimiser = torch.optim.Adam([*self.network.parameters(), self.c], lr=rate, betas=betas, fused=True)
        size = getattr(settings, "buffer", getattr(settings, "chains", 1))
        self.buffer = job.facts.starts(size, torch.Generator().manual_seed(job.seed))
        self.noise = torch.distributions.MultivariateNormal(
            torch.tensor(job.facts.mean), 1.2 * torch.tensor(job.facts.covariance), validate_args=False
        )
        self.loss = find_loss(job)

    def advance(self, steps: int) -> None:
        """The loop."""
        for _ in range(steps):
            x = self.data[torch.randint(len(self.data), (self.job.training.batch_size,))]
            self.optimiser.zero_grad()
            self.loss(self, x).backward()
            self.optimiser.step()

    def networks(self) -> list[nn.Module]:
        """The one network."""
        return [self.network]

    def chains(self, x: Tensor) -> Tensor:
        """Langevin steps from x, without a graph over the weights."""
        sampler = self.job.settings.sampler.fit_to(self.job.facts)
        self.network.requires_grad_(False)
        x = langevin(self.network, x, sampler.steps, sampler.step_size)
        self.network.requires_grad_(True)
        return x


def persistent(learner: Learner, x: Tensor) -> Tensor:
    """Chains from a buffer, of which some restart: from noise (mle) or from data (pcd)."""
    settings = learner.job.settings
    index = torch.randint(len(learner.buffer), (len(x),))
    likelihood = learner.job.method == "mle"
    fresh = 1.5 * learner.job.facts.scale * torch.randn_like(x) if likelihood else x
    restart = torch.rand(len(x), 1) < (settings.rejuvenation if likelihood else settings.reset)
    learner.buffer[index] = negatives = learner.chains(torch.where(restart, fresh, learner.buffer[index]))
    return learner.network(x).mean() - learner.network(negatives).mean()


def divergence(learner: Learner, x: Tensor) -> Tensor:
    """Chains from the batch."""
    return learner.network(x).mean() - learner.network(learner.chains(x)).mean()


def denoising(learner: Learner, x: Tensor) -> Tensor:
    """½‖s(x + σε) + ε/σ‖²."""
    noise, sigma = torch.randn_like(x), learner.job.settings.sigma * learner.job.facts.unit
    x = (x + sigma * noise).requires_grad_(True)
    (gradient,) = torch.autograd.grad(learner.network(x).sum(), x, create_graph=True)
    return 0.5 * (noise / sigma - gradient).square().sum(1).mean()


def sliced(learner: Learner, x: Tensor) -> Tensor:
    """½‖s‖² + vᵀ(∇s)v."""
    x, v = x.requires_grad_(True), torch.randn_like(x).sign()
    (gradient,) = torch.autograd.grad(learner.network(x).sum(), x, create_graph=True)
    (along,) = torch.autograd.grad(-(gradient * v).sum(), x, create_graph=True)
    return (0.5 * gradient.square().sum(1) + (along * v).sum(1)).mean()


def noise_contrastive(learner: Learner, x: Tensor) -> Tensor:
    """Data against Gaussian noise."""
    noise, ratio = learner.noise, learner.job.settings.ratio
    y = noise.sample((ratio * len(x),))
    on_data, on_noise = (-learner.network(u) - learner.c - noise.log_prob(u) - math.log(ratio) for u in (x, y))
    return softplus(-on_data).mean() + ratio * softplus(on_noise).mean()


def find_loss(job: Job) -> Callable[[Learner, Tensor], Tensor] | None:
    """The loss of a job's method; None if it is not written here."""
    if job.method == "cd":
        return persistent if job.settings.persistent else divergence
    return {"mle": persistent, "dsm": denoising, "ssm": sliced, "nce": noise_contrastive}.get(job.method)

"""Training by hand: batch, loss, backward, Adam, and nothing else; chains by Langevin steps.

Same network, same first weights, same settings as the job of ours that it is made from.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from benchmarks.speed.plain import plain
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer

Sampler = Callable[[nn.Module, Tensor, int, float], Tensor]


class Learner:
    """A loop over one objective."""

    done = False

    def __init__(self, job: Job, data: Tensor, sampler: Sampler) -> None:
        torch.manual_seed(job.seed)
        self.job, self.data, self.sampler = job, data, sampler
        self.network = plain(Trainer(job, data).model)
        self.c = torch.zeros((), requires_grad=True)
        settings = job.settings
        rate, betas = settings.learning_rate, (job.training.beta1, 0.999)
        self.optimiser = torch.optim.Adam([*self.network.parameters(), self.c], lr=rate, betas=betas, fused=True)
        size = getattr(settings, "buffer", getattr(settings, "chains", 1))
        self.buffer = job.facts.starts(size, torch.Generator().manual_seed(job.seed))
        self.noise = torch.distributions.MultivariateNormal(
            torch.tensor(job.facts.mean), 1.2 * torch.tensor(job.facts.covariance), validate_args=False
        )
        self.objective = objective(job)

    def advance(self, steps: int) -> None:
        """The loop."""
        for _ in range(steps):
            x = self.data[torch.randint(len(self.data), (self.job.training.batch_size,))]
            self.optimiser.zero_grad()
            self.objective(self, x).backward()
            self.optimiser.step()

    def networks(self) -> list[nn.Module]:
        """There is one."""
        return [self.network]

    def chains(self, x: Tensor) -> Tensor:
        """Langevin steps from x, without a graph over the weights."""
        sampler = self.job.settings.sampler.fit_to(self.job.facts)
        self.network.requires_grad_(False)
        x = self.sampler(self.network, x, sampler.steps, sampler.step_size)
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


def objective(job: Job) -> Callable[[Learner, Tensor], Tensor] | None:
    """The loss of a job's method, if it is written here."""
    if job.method == "cd":
        return persistent if job.settings.persistent else divergence
    return {"mle": persistent, "dsm": denoising, "ssm": sliced, "nce": noise_contrastive}.get(job.method)

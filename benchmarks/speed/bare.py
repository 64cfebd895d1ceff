"""The bare loop: what one would write by hand with nothing but torch.

Weights are frozen, spectral norms folded into them, noise comes from the global generator, and there are no counts, no
diagnostics and no checks. One gradient a step; the adjusted sampler keeps energy and gradient of where it is.
"""

import copy
import math

import torch
from torch import Tensor, nn

from benchmarks.speed import contender
from benchmarks.speed.bare_training import Learner, objective
from benchmarks.speed.problems import Problem
from benchmarks.speed.timing import Work
from ebmbench.training.job import Job


class Contestant(contender.Contender):
    """Nothing but torch."""

    name = contender.BARE

    def langevin(self, problem: Problem) -> Work:
        """The loop below."""
        return lambda steps: langevin(problem.plain, problem.x, steps, problem.step_size)

    def mala(self, problem: Problem) -> Work:
        """The loop below."""
        return lambda steps: mala(problem.plain, problem.x, steps, problem.step_size)

    def learner(self, job: Job, data: Tensor, average: bool = False) -> Learner | None:
        """A training loop of ten lines."""
        return Learner(job, data, langevin) if objective(job) is not None else None

    def log_z(self, problem: Problem, cells: int) -> Work:
        """One expression, on a grid that nobody checks."""
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
    """The midpoint rule about 0, all points at once."""
    axis = ((torch.arange(cells, dtype=torch.float64) + 0.5) / cells * 2 - 1) * half_width
    points = torch.cartesian_prod(axis, axis)
    return float((-network(points)).logsumexp(0)) + 2 * math.log(2 * half_width / cells)

"""Mixtures of products of Bernoullis: their likelihood, their samples, and their fit by expectation-maximisation."""

import torch
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Subject

ROUNDS = 200  # of EM at most
GAIN = 1e-4  # nats per event, below which it ends
PULL = 0.25  # of the way from an event to the mean, where its component starts


class Products:
    """The mixture as an energy: `means` `(K, n)` and `weights` `(K,)`, in float64. It is normalised."""

    def __init__(self, means: Tensor, weights: Tensor, shape: list[int]) -> None:
        self.means, self.weights, self.shape = means, weights, shape

    def log_joint(self, x: Tensor) -> Tensor:
        """log π_k q_k(v), `(B, K)`."""
        v = x.flatten(1).double()
        return v @ torch.logit(self.means).mT + torch.log1p(-self.means).sum(1) + self.weights.log()

    def __call__(self, x: Tensor) -> Tensor:
        """−log q(v), `(B,)`."""
        return -self.log_joint(x).logsumexp(1)

    def log_partition(self) -> float:
        """log Z."""
        return 0.0

    def sample(self, count: int, generator: Generator) -> Tensor:
        """Independent draws `(count, *shape)` in float32."""
        which = torch.multinomial(self.weights, count, replacement=True, generator=generator)
        means = self.means[which]
        units = torch.rand(means.shape, generator=generator, dtype=means.dtype) < means
        return units.float().reshape(count, *self.shape)


def fit(train: Tensor, facts: Facts, components: int) -> Products:
    """The mixture of a training set `(N, *event)`; of one component it is that of independent units."""
    v = train.flatten(1).double()
    mean = (v.sum(0) + 0.5) / (len(v) + 1)
    chosen = torch.randperm(len(v), generator=stream(0, "bernoulli_mixture", facts.name))[:components]
    means = torch.lerp(v[chosen], mean, PULL) if components > 1 else mean[None]
    found = Products(means, torch.full((len(means),), 1 / len(means)).double(), facts.shape)
    before = -torch.inf
    for _ in range(ROUNDS if components > 1 else 0):
        joint = found.log_joint(v)
        shares = joint.softmax(1)
        counts = shares.sum(0)
        means = (shares.mT @ v + mean) / (counts + 1)[:, None]
        found = Products(means, (counts + 1) / (counts + 1).sum(), facts.shape)
        now = float(joint.logsumexp(1).mean())
        if now - before < GAIN:
            break
        before = now
    return found


def describe(train: Tensor, facts: Facts, count: int, generator: Generator, components: int) -> Subject:
    """A mixture of so many components as metrics see it; nothing if the data are not binary."""
    if not facts.binary:
        return Subject(None, None, kind="exact")
    found = fit(train, facts, components)
    return Subject(found, found.sample(count, generator), kind="exact")

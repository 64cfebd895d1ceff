"""Mixture of products of Bernoullis, fitted by expectation-maximisation

    log q(v) = log Σ_k π_k Π_i m_ki^{v_i} (1 − m_ki)^{1 − v_i}

It knows which units are on together, but no Boltzmann machine was needed to tell it. The likelihood is exact, whatever
the number of units. Each component has one more event, spread like the mean of the data, and the data half an event of
each value of each unit: a unit that was never on in training may be on in the test. Components start at training events
that are always the same ones, so that no seed changes the fit. Of data that are not binary it gives nothing.
"""

import torch
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.evaluation import Subject

PAPER = "Dempster, Laird & Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, JRSS B 39, 1977"
YEAR = 1977
COMPONENTS = 20
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


def subject(
    density: Density | None, train: Tensor, test: Tensor, facts: Facts, count: int, generator: Generator
) -> Subject:
    """The mixture with its exact likelihood and exact samples."""
    return describe(train, facts, count, generator, COMPONENTS)


def describe(train: Tensor, facts: Facts, count: int, generator: Generator, components: int) -> Subject:
    """A mixture of so many components as metrics see it; nothing if the data are not binary."""
    if not facts.binary:
        return Subject(None, None, kind="exact")
    found = fit(train, facts, components)
    return Subject(found, found.sample(count, generator), kind="exact")

"""Mixture of products of Bernoullis, fitted by expectation-maximisation

    log q(v) = log Σ_k π_k Π_i m_ki^{v_i} (1 − m_ki)^{1 − v_i}

It knows which units are on together, but no Boltzmann machine was needed to tell it. The likelihood is exact, whatever
the number of units. Each component has one more event, spread like the mean of the data, and the data half an event of
each value of each unit: a unit that was never on in training may be on in the test. Components start at training events
that are always the same ones, so that no seed changes the fit. Of data that are not binary it gives nothing.
"""

from torch import Generator, Tensor

from ebmbench.baselines.common.bernoulli import describe
from ebmbench.core.dataset import Facts
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.evaluation import Subject

PAPER = "Dempster, Laird & Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, JRSS B 39, 1977"
YEAR = 1977
LINK = "https://doi.org/10.1111/j.2517-6161.1977.tb01600.x"
COMPONENTS = 20


def subject(
    density: Density | None, train: Tensor, test: Tensor, facts: Facts, count: int, generator: Generator
) -> Subject:
    """The mixture with its exact likelihood and exact samples."""
    return describe(train, facts, count, generator, COMPONENTS)

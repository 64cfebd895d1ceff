"""Independent units with the data's means: log q(v) = Σ_i v_i log m_i + (1 − v_i) log(1 − m_i)

A model that does not beat it has learned nothing about which units are on together. The means have half an event of
each value beside the data, so that none is 0 or 1. Of data that are not binary it gives nothing.
"""

from torch import Generator, Tensor

from ebmbench.baselines.common.bernoulli import describe
from ebmbench.core.dataset import Facts
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.evaluation import Subject

PAPER = "Krichevsky & Trofimov, The Performance of Universal Encoding, IEEE Transactions on Information Theory 27, 1981"
YEAR = 1981
LINK = "https://doi.org/10.1109/TIT.1981.1056331"


def subject(
    density: Density | None, train: Tensor, test: Tensor, facts: Facts, count: int, generator: Generator
) -> Subject:
    """The product with its exact likelihood and exact samples."""
    return describe(train, facts, count, generator, 1)

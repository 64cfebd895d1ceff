"""Oracle: the truth itself, judged like a model.

Its energy is −log p, its samples are fresh data: what it gets is the floor that chance and grid leave.
"""

import torch
from torch import Generator, Tensor

from ebmbench.core.facts import Facts
from ebmbench.data.densities.density import Density
from ebmbench.metrics.evaluation import Subject

PAPER = "Lueckmann et al., Benchmarking Simulation-Based Inference, AISTATS 2021 (baselines as ordinary rows)"
YEAR = 2021


def subject(density: Density | None, train: Tensor, facts: Facts, count: int, generator: Generator) -> Subject:
    """Without a known density there is no energy, and the samples are training data."""
    if density is None:
        index = torch.randint(len(train), (count,), generator=generator)
        return Subject(None, train[index])
    return Subject(lambda x: -density.log_prob(x), density.sample(count, generator), density)

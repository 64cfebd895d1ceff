"""Oracle: the truth itself, judged like a model.

Its energy is −log p, its samples are fresh data: what it gets is the floor that chance and grid leave. Of images no
density is known, and the test images stand for samples, each once at most.
"""

import torch
from torch import Generator, Tensor

from ebmbench.core.dataset import Facts
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.evaluation import Subject

PAPER = "Lueckmann et al., Benchmarking Simulation-Based Inference, AISTATS 2021 (baselines as ordinary rows)"
YEAR = 2021
LINK = "https://arxiv.org/abs/2101.04653"


def subject(
    density: Density | None, train: Tensor, test: Tensor, facts: Facts, count: int, generator: Generator
) -> Subject:
    """Without a known density there is no energy, and the samples are test images or, of other data, training data."""
    if density is not None:
        return Subject(lambda x: -density.log_prob(x), density.sample(count, generator), density, kind="exact")
    if facts.is_image:
        chosen = test[torch.randperm(len(test), generator=generator)[:count]]
        return Subject(None, chosen, sampler="test images", kind="exact")
    index = torch.randint(len(train), (count,), generator=generator)
    return Subject(None, train[index], kind="exact")

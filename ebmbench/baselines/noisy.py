"""Noisy data: test images with Gaussian noise 0.2 on pixels in [−1, 1], what `fid_ratio` counts as 1.

Every class and every shape is there, and every image is visibly spoilt: samples that are judged worse than this look
worse too. Of data that are no images it gives nothing.
"""

from torch import Generator, Tensor

from ebmbench.core.dataset import Facts, from_levels
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.evaluation import Subject
from ebmbench.metrics.common.fidelity import NOISE, add_noise

PAPER = "Heusel et al., GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium, NeurIPS 2017"
YEAR = 2017
LINK = "https://arxiv.org/abs/1706.08500"


def subject(
    density: Density | None, train: Tensor, test: Tensor, facts: Facts, count: int, generator: Generator
) -> Subject:
    """Each test image once at most; no energy."""
    if not facts.is_image:
        return Subject(None, None, kind="exact")
    images = add_noise(test, count, facts.image_levels, generator)
    return Subject(None, from_levels(images, facts.image_levels), sampler=f"test images + noise {NOISE}", kind="exact")

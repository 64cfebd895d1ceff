"""Error of the modes' weights among the model's samples, ½ Σ |w − p|; has a floor, see the oracle's row."""

import torch

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.mode_density import density_weights, region_weights, weight_error

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("samples", "density")
FLOOR = 0.05


def compute(e: Evaluation) -> Value:
    """What the sampler finds, which may differ from what the energy says. Needs no grid of the model's."""
    samples = e.samples.double()
    found = region_weights(e.nearest_mode(samples), torch.ones(len(samples)).double(), len(e.truth.centres))
    own = e.truth_grid
    value = weight_error(found, density_weights(e, own.log_q, own))
    return Value(value, n=len(samples), protocol=f"{e.samples_protocol}, nearest of {len(found)} centres")

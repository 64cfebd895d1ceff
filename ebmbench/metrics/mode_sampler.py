"""Error of the modes' weights among the model's samples, ½ Σ |w − p|; has a floor, see the oracle's row."""

import torch
from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.quadrature import in_chunks
from ebmbench.metrics.mode_density import region_weights, weight_error

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("samples", "density")
FLOOR = 0.05


def compute(e: Evaluation) -> Value:
    """What the sampler finds, which may differ from what the energy says. Needs no grid of the model's."""
    samples = e.samples.double()
    found = region_weights(e.nearest_mode(samples), torch.ones(len(samples)).double(), len(e.smooth_truth.centres))
    true = e.share(__name__, lambda: {"weights": _true_weights(e)}, cells=e.settings.cells)["weights"]
    protocol = f"{e.samples_protocol}, nearest of {len(found)} centres"
    return Value(weight_error(found, true), n=len(samples), protocol=protocol)


def _true_weights(e: Evaluation) -> Tensor:
    """The masses of the modes' regions under the data's density, on a grid of its own."""
    own = e.truth_grid
    return region_weights(in_chunks(e.nearest_mode, own.points), own.log_q.exp(), len(e.smooth_truth.centres))

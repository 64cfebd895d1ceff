"""Error of the modes' weights in the model's density, ½ Σ |w − p|, by quadrature."""

from ebmbench.metrics.common import modes
from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
DIRECTION = "lower"
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """What the energy says, whatever a sampler makes of it."""
    found, true = (modes.density_weights(e, log_density, e.grid) for log_density in (e.grid.log_q, e.log_truth))
    return Value(modes.error(found, true), n=len(e.grid.points), protocol=e.grid.protocol)

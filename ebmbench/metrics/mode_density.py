"""Error of the modes' weights in the model's density, ½ Σ |w − p|, by quadrature."""

from ebmbench.metrics import modes
from ebmbench.metrics.evaluation import Evaluation, Value

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
DIRECTION = "lower"


def compute(e: Evaluation) -> Value:
    """What the energy says, whatever a sampler makes of it."""
    found = modes.weights(e.regions, e.grid.log_q.exp(), len(e.truth.centres))
    return Value(modes.error(found, modes.true_weights(e)), n=len(e.grid.points), protocol=e.grid.protocol)

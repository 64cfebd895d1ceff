"""KL divergence from what the method aims at (dsm, ncsn: the data smoothed by noise) to the model, by quadrature."""

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.common.quadrature import in_chunks

PAPER = "Vincent, A Connection Between Score Matching and Denoising Autoencoders, Neural Computation 23(7), 2011"
YEAR = 2011
DIRECTION = "lower"
NEEDS = ("energy", "target")


def compute(e: Evaluation) -> Value:
    """Equals `kl` for methods whose optimum is the data's density itself."""
    if e.subject.target is None:
        raise Unavailable("the density that the method aims at is not known")
    log_target = in_chunks(e.subject.target.log_prob, e.grid.points)
    integrand = log_target.exp() * (log_target - e.grid.log_q)
    return Value(e.grid.integral(integrand), n=len(integrand), protocol=e.grid.protocol)

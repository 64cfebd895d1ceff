"""Total variation distance, ½ ∫ |p − q|, by quadrature: the largest difference in the probability of any event."""

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Gibbs & Su, On Choosing and Bounding Probability Metrics, 2002"
YEAR = 2002
LINK = "https://doi.org/10.1111/j.1751-5823.2002.tb00178.x"
DIRECTION = "lower"
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """Between 0 and 1."""
    difference = (e.log_truth.exp() - e.grid.log_q.exp()).abs()
    return Value(0.5 * e.grid.integral(difference), n=len(difference), protocol=e.grid.protocol)

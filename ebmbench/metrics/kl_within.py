"""The part of KL(p‖q) that comes from the shapes of modes, Σₖ pₖ KL(p(·|k)‖q(·|k)), by quadrature.

The other part of the split in `kl_weights`, which together with this is `kl`: what would be left of it if the weights
of the modes were right.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.kl_weights import split

PAPER = "Cover & Thomas, Elements of Information Theory, 1991 (theorem 2.5.3, the chain rule)"
YEAR = 1991
LINK = "https://doi.org/10.1002/0471200611"
DIRECTION = "lower"
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """In nats."""
    return Value(split(e)[1], n=len(e.grid.points), protocol=e.grid.protocol)

"""Width of the bracket of log Z: annealed importance sampling, reverse − forward, in nats.

How far the two log-likelihoods are apart; small says that both are right, if the reverse chains started at samples of
the model. A diagnostic, so it has no direction: a narrow gap makes no model better. A gap below zero by more than its
error does not come from samples of the model (see `annealing`): then there is no number, but the reason says by how
much.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Grosse et al., Sandwiching the marginal likelihood using bidirectional Monte Carlo, arXiv 2015"
YEAR = 2015
LINK = "https://arxiv.org/abs/1511.02543"
DIRECTION = "none"
NEEDS = ("energy", "samples")
FLOOR = 0.0  # up to its error


def compute(e: Evaluation) -> Value:
    """With the standard error of the difference; below zero only within it."""
    found = e.annealing
    if found.reverse is None:
        raise Unavailable(found.missing)
    ends = f"log Z from {found.forward.log_z:.4f} to {found.reverse.log_z:.4f}"
    protocol = f"{ends}; {found.protocol}; reverse from {found.starts}"
    if found.crossed:
        return Value(protocol=protocol, reason=found.crossed)
    gap, error = found.gap
    return Value(gap, error, found.reverse.chains, protocol)

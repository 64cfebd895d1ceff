"""Relative Fisher divergence, E_data‖s − s_data‖² / E_data‖s_data‖²: the score's error as a share of the score."""

from ebmbench.metrics.common.evaluation import Evaluation, Value

PAPER = "Hyvärinen, Estimation of Non-Normalized Statistical Models by Score Matching, JMLR 2005"
YEAR = 2005
DIRECTION = "lower"
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """Measured at held-out data only: says nothing of places where there are none (see off_support).

    Of a model with noise levels it is the score of the narrowest.
    """
    x = e.test.double()
    truth = e.smooth_truth.score(x)
    errors = (e.score(x) - truth).square().sum(1)
    size = truth.square().sum(1).mean()
    spread = float(errors.std() / len(x) ** 0.5 / size)
    return Value(float(errors.mean() / size), error=spread, n=len(x), protocol=f"{len(x)} test events")

"""The part of KL(p‖q) that comes from the weights of modes, Σₖ pₖ log(pₖ/qₖ), by quadrature.

With pₖ and qₖ the masses of the regions k (every point belongs to the nearest mode centre, as in `mode_density`), the
chain rule splits the divergence exactly:

    KL(p‖q) = Σₖ pₖ log(pₖ/qₖ) + Σₖ pₖ KL(p(·|k)‖q(·|k)).

The first term is what a sampler that does not cross between modes does to a model; the second, `kl_within`, is the
error of the modes' shapes. The split holds for any regions, but it says something only where they are modes: between
each centre and its nearest neighbour the density must fall below `VALLEY` of the lower of the two. The 80 components
of `two_moons` have no such valley, so there is no number.
"""

import math

import torch
from torch import Tensor

from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Cover & Thomas, Elements of Information Theory, 1991 (theorem 2.5.3, the chain rule)"
YEAR = 1991
DIRECTION = "lower"
NEEDS = ("energy", "density")
VALLEY = 0.75  # squares of a checkerboard, which touch at corners, have ½ there


def compute(e: Evaluation) -> Value:
    """In nats."""
    return Value(split(e)[0], n=len(e.grid.points), protocol=e.grid.protocol)


def split(e: Evaluation) -> tuple[float, float]:
    """KL of the weights, and KL within modes; their sum is `kl`.

    Weights add up to 1, so that the first is never negative. A mass of the grid that is not exactly 1 is left to the
    second, and the sum holds to rounding all the same.
    """
    truth = e.smooth_truth
    if not separated(truth):
        said = f"the data have no separate modes: the density has no valley between its {len(truth.centres)} centres"
        raise Unavailable(said)
    log_p, log_q, regions = e.log_truth, e.grid.log_q, e.on_grid("nearest mode", e.nearest_mode)
    p, q = (_log_weights(regions, values, len(truth.centres)) for values in (log_p, log_q))
    between = (p - q)[regions]
    return e.grid.integral(log_p.exp() * between), e.grid.integral(log_p.exp() * (log_p - log_q - between))


def _log_weights(regions: Tensor, values: Tensor, count: int) -> Tensor:
    """log of each region's share of Σ exp(values): a mode that the model lost has one too small for a float."""
    masses = torch.stack([values[regions == k].logsumexp(0) for k in range(count)])
    return masses - masses.logsumexp(0)


def separated(density: Density) -> bool:
    """Whether there is a valley halfway between each centre and its nearest neighbour."""
    centres = density.centres
    if len(centres) < 2:
        return True
    nearest = torch.cdist(centres, centres).fill_diagonal_(math.inf).argmin(1)
    halfway = density.log_prob((centres + centres[nearest]) / 2)
    peaks = density.log_prob(centres)
    return bool((halfway < torch.minimum(peaks, peaks[nearest]) + math.log(VALLEY)).all())

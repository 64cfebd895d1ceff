"""The sum of two energies: that of a model, and that of the same model turned about the middle of the data's modes.

    q₂(x) ∝ q(x) · q(Rx),   p₂(x) ∝ p(x) · p(Rx),   KL(p₂‖q₂) on the grid of the model's density.

A product of densities is the sum of their energies: no training, and where the density is known, so is what must come
out. It is low only where both are, so it asks for the energy where data are rare. R is the first of `TURNS` after which
data and turned data overlap, but are not the same.
"""

import math
from collections.abc import Callable

from torch import Tensor

from ebmbench.core.dataset import Facts
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.evaluation import Evaluation
from ebmbench.metrics.common.quadrature import HALF_WIDTHS, in_chunks, tabulate

TURNS = (180.0, 45.0, 90.0, 22.5)  # degrees
OVERLAP = (0.02, 0.9)  # ∫p(x)p(Rx) over ∫p²: 1 for the same density, 0 for none in common
CELLS = 64  # an axis, to measure it
STRIDE = 2  # of the grid's points along each axis: they resolve a model twice as finely as an integral needs


def choose_turn(density: Density, facts: Facts) -> float | None:
    """The angle in degrees; None if no turn gives anything new."""
    grid = tabulate(lambda x: in_chunks(density.log_prob, x), facts, HALF_WIDTHS[0], CELLS)
    same = (2 * grid.log_q).logsumexp(0)
    for angle in TURNS:
        turned = in_chunks(density.log_prob, turn(grid.points, density, angle))
        if OVERLAP[0] <= float(((grid.log_q + turned).logsumexp(0) - same).exp()) <= OVERLAP[1]:
            return angle
    return None


def turn(x: Tensor, density: Density, angle: float) -> Tensor:
    """Rx: points in the plane, turned about the mean of the modes' centres."""
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    middle = density.centres.mean(0).to(x)
    return (x - middle) @ x.new_tensor([[cos, sin], [-sin, cos]]) + middle


def compose(log_density: Callable[[Tensor], Tensor], density: Density, angle: float, points: Tensor) -> Tensor:
    """log q(x) + log q(Rx), not normalised."""
    return log_density(points) + log_density(turn(points, density, angle))


def composed_divergence(e: Evaluation, log_q: Callable[[Tensor], Tensor], angle: float) -> tuple[float, float]:
    """KL(p₂‖q₂), and log ∫ q(x)q(Rx); `log_q` is the model's density anywhere."""
    cells = [len(axis) for axis in reversed(e.grid.axes)]

    def few(values: Tensor) -> Tensor:
        return values.reshape(*cells, *values.shape[1:])[::STRIDE, ::STRIDE].flatten(0, 1)

    log_cell = e.grid.log_cell + 2 * math.log(STRIDE)
    turned = e.on_grid("log p turned", lambda x: e.truth.log_prob(turn(x, e.truth, angle)), turn=angle)
    p, q = few(e.log_truth + turned), few(e.grid.log_q) + log_q(turn(few(e.grid.points), e.truth, angle))
    log_z = float(q.logsumexp(0)) + log_cell
    p = p - (p.logsumexp(0) + log_cell)
    return float((p.exp() * (p - (q - log_z))).sum()) * math.exp(log_cell), log_z

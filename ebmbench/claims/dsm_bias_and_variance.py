"""Denoising score matching trades bias for variance: less noise, less bias, and a variance that grows without bound

What is learned is the data smoothed by σ. For data N(1, 1) and E(x) = ½θ₁x² − θ₂x, whose truth is θ = (1, 1), the loss
½(s(x̃) + z/σ)² is quadratic in θ, so its minimum is known in closed form for any sample. In the population it is
(1, 1)/(1 + σ²), so the bias falls as σ²; at small σ a sample's estimate has a variance ∝ 1/σ², for its residual is z/σ,
and the objective itself one ∝ 1/σ⁴, for it holds ½z²/σ². The source speaks of the variance of objective values and says
that optimisation suffers; the estimate's variance is what that comes to where optimisation is exact.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Generator, Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.core.streams import stream
from ebmbench.methods import dsm
from ebmbench.report.figures.theme import FAINT, INK, colour, plain_ticks

PAPER = "Vincent (2011); Beigy (2024), on denoising score matching"
YEAR = 2011
LINK = "https://doi.org/10.1162/NECO_a_00142"

# Half of the power that theory gives is asked for. Over these σ, not only small ones, the bias σ²/(1 + σ²) has a mean
# slope of 1.6; both variances are steeper than in the limit.
CLAIM = Claim(
    sentence="Denoising score matching is not consistent, because it learns the noisy density; with less noise the "
    "bias falls, but the variance of the objective grows without bound and the estimate suffers.",
    here="The precision and mean of a Gaussian by the exact minimum of the benchmark's dsm, 500 samples of 1000 events "
    "for each σ; bias is against the clean density. Slopes are of straight lines through logarithms.",
    seeds=10,
    criteria=(
        Criterion("objective", "slope of the objective's log variance against log σ", "below", -2.0, expected=-4.0),
        Criterion("variance", "slope of the estimate's log variance against log σ", "below", -1.0, expected=-2.0),
        Criterion("bias", "slope of the estimate's log bias against log σ", "above", 1.0, expected=1.6),
    ),
    caption="Left: variance of the objective at the truth and of the estimate (both parameters together) for samples "
    "of 1000 events, against σ. Middle: bias of the precision. Right: root mean squared error, which has its "
    "least between. A line per seed; dots are theory.",
)

SIGMAS = (0.2, 0.3, 0.45, 0.67, 1.0)
SAMPLES, EVENTS, TRUTH = 500, 1000, 1.0


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """Variance of the objective, variance and bias of the estimate, each `(sigmas,)`."""
    rows = []
    for i, sigma in enumerate(SIGMAS):
        generator = stream(seed, "claim", "dsm_bias_and_variance", i)
        x, noise = (_normal(generator) + TRUTH, _normal(generator))
        losses = [dsm.denoising_score_matching(_truth, a, b, sigma).item() for a, b in zip(x, noise, strict=True)]
        theta = estimates(x, noise, sigma)
        rows.append((np.var(losses, ddof=1), float(theta.var(0).sum()), TRUTH - float(theta[:, 0].mean())))
    objective, variance, bias = np.array(rows).T
    return {"objective": objective, "variance": variance, "bias": bias}


def _normal(generator: Generator) -> Tensor:
    return torch.randn(SAMPLES, EVENTS, 1, generator=generator, dtype=torch.float64)


def _truth(x: Tensor) -> Tensor:
    return 0.5 * (x[:, 0] - TRUTH).square()


def estimates(x: Tensor, noise: Tensor, sigma: float) -> Tensor:
    """The minimum of dsm's objective for each sample `(S, N, 1)`: θ = (precision, precision · mean), `(S, 2)`.

    The objective is quadratic, and the mean over samples of as many objectives that share nothing: one Newton step
    from 0 with a Hessian of 2×2 blocks, a column of all blocks at a time.
    """
    theta = x.new_zeros(len(x), 2, requires_grad=True)

    def energy(u: Tensor) -> Tensor:
        each = u.reshape(len(theta), -1)
        return (0.5 * theta[:, :1] * each.square() - theta[:, 1:] * each).flatten()

    loss = len(theta) * dsm.denoising_score_matching(energy, x.flatten(0, 1), noise.flatten(0, 1), sigma)
    (slope,) = torch.autograd.grad(loss, theta, create_graph=True)
    columns = [torch.autograd.grad(slope[:, i].sum(), theta, retain_graph=True)[0] for i in range(2)]
    return -torch.linalg.solve(torch.stack(columns, 2), slope.detach())


def statistics(arms: Arms) -> dict[str, float]:
    """Slopes in logarithms; a bias that is not positive has none."""
    found = arms["all"]
    return {key: _slope(found[key]) for key in ("objective", "variance", "bias")}


def _slope(values: Any) -> float:
    return float(np.polyfit(np.log(SIGMAS), np.log(values), 1)[0]) if (values > 0).all() else float("nan")


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Variances, bias and error, with theory."""
    left, middle, right = figure.subplots(1, 3)
    objective, variance, bias = (stacked(seeds, "all", key) for key in ("objective", "variance", "bias"))
    sigma = np.geomspace(SIGMAS[0], SIGMAS[-1], 50)
    noise = 1 / sigma**2 - 1 / (1 + sigma**2)  # the variance of the residual
    of_estimate = noise / EVENTS * (1 / (1 + sigma**2) + 1 + 1 / (1 + sigma**2))
    _lines(left, objective, FAINT, "objective")
    _lines(left, variance, colour("dsm"), "estimate")
    for theory in (of_estimate, (1 + (1 / sigma - sigma) ** 2) ** 2 / (2 * EVENTS)):
        left.loglog(sigma, theory, ":", color=INK, zorder=3)
    left.set(ylabel="variance", xlabel="σ")
    left.legend()
    _lines(middle, bias, colour("dsm"))
    middle.loglog(sigma, sigma**2 / (1 + sigma**2), ":", color=INK, zorder=3)
    middle.set(ylabel="bias of the precision", xlabel="σ")
    _lines(right, np.sqrt(2 * bias**2 + variance), colour("dsm"))
    right.loglog(sigma, np.sqrt(2 * (sigma**2 / (1 + sigma**2)) ** 2 + of_estimate), ":", color=INK, zorder=3)
    right.set(ylabel="root mean squared error", xlabel="σ")
    for axes in (left, middle, right):
        plain_ticks(axes.xaxis, *axes.get_xlim())
        plain_ticks(axes.yaxis, *axes.get_ylim())


def _lines(axes: Axes, rows: Any, shade: str, label: str | None = None) -> None:
    for i, row in enumerate(rows):
        axes.loglog(SIGMAS, row, ".-", color=shade, linewidth=0.8, label=None if i else label)

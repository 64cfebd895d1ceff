"""Score matching is accurate where data are dense, and wrong where they are rare

Its loss is an expectation over the data, ½E_data‖s − s_data‖² + const.: an error where p_data is 10⁻³ of its largest
costs a thousandth of one at the top, and where no datum ever fell it costs nothing. The error of a region R is
relative, Σ_R ‖s − s_data‖² / Σ_R ‖s_data‖² over a grid: 0 is the truth, and 1 is as good as no score at all.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.config.sections import Training
from ebmbench.data import unbalanced
from ebmbench.data.common.densities import Density
from ebmbench.methods import ssm
from ebmbench.models import mlp
from ebmbench.report.figures.theme import INK, density_colours

PAPER = "Amini, lecture 7, section 6, after Song & Ermon (2019), section 3.2.1 and figure 2"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"

REACH, CELLS, BUDGET = 8.0, 41, 1_000_000  # the source's figure shows [−8, 8]²
DENSE, RARE = 0.05, 1e-3  # of the largest density

CLAIM = Claim(
    sentence="Score matching estimates the score well in regions of high density, and badly in those of low density.",
    here="The benchmark's ssm with its mlp energy on unbalanced, 0.2 N((−5,−5), I) + 0.8 N((5,5), I), against the "
    "exact score on a grid over [−8, 8]², as in the source. Dense is where the density is above 5 % of its largest "
    "(both modes), rare where it is below 0.1 %. The source trains a network that gives the score; this one gives an "
    "energy.",
    seeds=8,
    criteria=(
        Criterion("dense", "relative squared error where data are dense", "below", 0.05, expected=0.01),
        Criterion("rare", "relative squared error where data are rare", "above", 0.25, expected=1.0),
        Criterion("ratio", "error where rare / error where dense", "above", 2.303, expected=4.605, logarithm="ratio"),
    ),
    caption="The exact score, the score learned (arrows of length ‖s‖^½, on the density), and the error ‖s − s_data‖ "
    "over ‖s_data‖, at the first seed. Lines: density at 5 % and at 0.1 % of its largest.",
    pilots="The bounds were fixed after a look at two seeds.",
)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """The learned score on the grid, and its error in both regions."""
    data = bench.data(unbalanced, train=20_000, test=10)
    assert data.density is not None
    run = bench.train(ssm, ssm.Settings(), data, mlp.Settings(), Training(budget=BUDGET), seed)
    found = run.trained.double().score(places())
    return {"score": found.numpy(), **errors(found, data.density)}


def places() -> Tensor:
    """The grid, row by row."""
    axis = torch.linspace(-REACH, REACH, CELLS, dtype=torch.float64)
    return torch.stack(torch.meshgrid(axis, axis, indexing="xy"), dim=-1).reshape(-1, 2)


def errors(found: Tensor, density: Density) -> dict[str, float]:
    """Relative squared errors of a score on the grid."""
    truth, log_p = density.score(places()), density.log_prob(places())
    share = (log_p - log_p.max()).exp()
    off, size = (found - truth).square().sum(1), truth.square().sum(1)
    return {
        name: float(off[region].sum() / size[region].sum())
        for name, region in [("dense", share > DENSE), ("rare", share < RARE)]
    }


def statistics(arms: Arms) -> dict[str, float]:
    """Both errors, and the logarithm of their ratio."""
    dense, rare = (float(arms["all"][name]) for name in ("dense", "rare"))
    return {"dense": dense, "rare": rare, "ratio": math.log(rare / dense)}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Two fields and their difference."""
    density, points = unbalanced.density(), places()
    truth, p = density.score(points).numpy(), density.log_prob(points).exp().numpy()
    found = seeds[0]["all"]["score"]
    left, middle, right = figure.subplots(1, 3)
    for axes, field, label in [(left, truth, "exact score"), (middle, found, "learned by ssm")]:
        _show(axes, np.sqrt(p), density_colours(), vmin=0, vmax=1.6 * np.sqrt(p.max()))
        _arrows(axes, points.numpy(), field)
        axes.set(xlabel=label)
    relative = np.linalg.norm(found - truth, axis=1) / np.linalg.norm(truth, axis=1)
    image = _show(right, relative, density_colours(), vmin=0, vmax=1.5)
    right.set(xlabel="relative error")
    figure.colorbar(image, ax=right, fraction=0.046, extend="max")
    for axes in (left, middle, right):
        square = p.reshape(CELLS, CELLS)
        levels = [RARE * p.max(), DENSE * p.max()]
        side = np.linspace(-REACH, REACH, CELLS)
        axes.grid(visible=False)
        axes.set(xticks=[-5, 0, 5], yticks=[-5, 0, 5])
        axes.contour(side, side, square, levels=levels, colors=INK, linewidths=0.7)


def _show(axes: Axes, values: NDArray[Any], cmap: Any, **limits: float) -> Any:
    half = REACH * CELLS / (CELLS - 1)
    image = values.reshape(CELLS, CELLS)
    return axes.imshow(image, origin="lower", extent=(-half, half, -half, half), cmap=cmap, **limits)  # type: ignore[arg-type]


def _arrows(axes: Axes, points: NDArray[Any], field: NDArray[Any]) -> None:
    """Every third point; lengths are square roots, so that those near a mode are seen beside those far out."""
    some = (np.arange(CELLS) % 3 == 1)[:, None] & (np.arange(CELLS) % 3 == 1)
    at, s = points[some.ravel()], field[some.ravel()]
    s = s / np.sqrt(np.linalg.norm(s, axis=1, keepdims=True)).clip(1e-9)
    axes.quiver(at[:, 0], at[:, 1], s[:, 0], s[:, 1], color=INK, scale=40, width=0.004, pivot="mid")

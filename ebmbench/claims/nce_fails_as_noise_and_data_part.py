"""NCE fails as its noise and the data part

The loss weighs the error of log p_θ at x by p_n/(p_n + p_data): where noise is rare beside data the classifier is sure
whatever the energy says, and nothing is learned. With noise N(m + d, S) whose centre moves away by d, or N(m, tS) that
is blown up by t, less and less noise falls among the data, the loss tends to 0 and the model stays where it was.
"""

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.exact_kl import divergence
from ebmbench.config.sections import Training
from ebmbench.core.noise import Gaussian
from ebmbench.data import eight_gaussians
from ebmbench.experiment.data import Data
from ebmbench.methods import nce
from ebmbench.methods.common.fixed_noise import fit_noise
from ebmbench.models import mlp
from ebmbench.report.figures.theme import INK, colour, density_colours
from ebmbench.training.job import Job
from ebmbench.training.trainer import Diverged, Trainer

PAPER = "Xu (2022), introduction of chapter 3"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"

# By name: how far the noise's centre is moved, in data deviations, and by what its covariance is multiplied.
NOISES = {
    "near": (0.0, 1.0),
    "moved 2": (2.0, 1.0),
    "moved 4": (4.0, 1.0),
    "moved 8": (8.0, 1.0),
    "blown 10": (0.0, 10.0),
    "blown 100": (0.0, 100.0),
    "blown 1000": (0.0, 1000.0),
}
MOVED = ("near", "moved 2", "moved 4", "moved 8")
BLOWN = ("near", "blown 10", "blown 100", "blown 1000")
BUDGET, REACH, CELLS = 500_000, 3.5, 64

CLAIM = Claim(
    sentence="If noise differs too much from data, telling them apart is trivial, and NCE's training has no effect.",
    here="The benchmark's nce on eight_gaussians with its default noise, then with the noise's centre moved away by 2, "
    "4 and 8 data deviations, or its covariance × 10, 100 and 1000; the same budget for all, and KL(data‖model) by "
    "quadrature. Expected is the KL of an untrained network, some hundred times that of a trained one. The source "
    "speaks of high dimensions above all; two are enough.",
    seeds=6,
    arms=tuple(NOISES),
    criteria=(
        Criterion(
            "moved", "KL at 8 deviations / KL with near noise", "above", 0.693, expected=4.605, logarithm="ratio"
        ),
        Criterion(
            "blown",
            "KL at 1000 × the covariance / KL with near noise",
            "above",
            0.693,
            expected=4.605,
            logarithm="ratio",
        ),
        Criterion("moved_rank", "rank correlation of KL and how far noise is moved", "above", 0.5, expected=1.0),
        Criterion("blown_rank", "rank correlation of KL and how far noise is blown up", "above", 0.5, expected=1.0),
        Criterion("loss", "larger of the two farthest losses / a coin toss's (2 log 2)", "below", 0.05, expected=0.0),
    ),
    caption="Above: the density learned with each noise, at the first seed; under it KL(data‖model). Below: KL by the "
    "noise's distance, a line per seed.",
)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """KL and the loss at the end with one noise, and the density that was learned."""
    data = bench.data(eight_gaussians, train=20_000, test=10)
    trainer = trained(data, *NOISES[arm], seed, BUDGET)
    energy, loss = trainer.model.double(), float(np.mean(trainer.history["loss"][-20:]))
    axis = torch.linspace(-REACH, REACH, CELLS, dtype=torch.float64)
    points = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), dim=-1).reshape(-1, 2)
    with torch.no_grad():
        picture = torch.softmax(-energy(points), 0).reshape(CELLS, CELLS)
    return {"kl": divergence(energy, data), "loss": loss, "picture": picture.numpy()}


def trained(data: Data, moved: float, blown: float, seed: int, budget: int) -> Trainer:
    """The benchmark's training of nce, with its own noise moved and blown up."""
    training = Training(budget=budget)
    settings = nce.Settings(matched=False)  # else c would start where the noise is explained that is replaced here
    trainer = Trainer(Job("nce", settings, {}, seed, training, mlp.Settings(), data.facts), data.train)
    own = fit_noise(settings, data.facts, data.train)
    assert isinstance(own, Gaussian)
    away = moved * data.facts.scale * torch.tensor([1.0, 0.0])
    trainer.method.noise = Gaussian(own.loc + away, blown * own.covariance_matrix)
    with contextlib.suppress(Diverged):  # then what there is of it is judged
        while trainer.progress < 1:
            trainer.advance()
    trainer.finish()
    return trainer


def statistics(arms: Arms) -> dict[str, float]:
    """Logarithms of ratios to near noise, rank correlations, and the loss that is left."""
    found = {}
    for key, names in [("moved", MOVED), ("blown", BLOWN)]:
        kls = [float(arms[name]["kl"]) for name in names]
        found[key] = math.log(kls[-1] / kls[0])
        found[f"{key}_rank"] = float(spearmanr(range(len(kls)), kls).statistic)
    farthest = max(float(arms[names[-1]]["loss"]) for names in (MOVED, BLOWN))
    return {**found, "loss": farthest / (2 * math.log(2))}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """What was learned, and how far off it is."""
    figure.set_size_inches(10, 4.8)
    grid = figure.add_gridspec(2, 1, height_ratios=[1, 1.3], hspace=0.35)
    cells = grid[0].subgridspec(1, len(NOISES), wspace=0.06)
    for i, name in enumerate(NOISES):
        axes, first = figure.add_subplot(cells[0, i]), seeds[0][name]
        axes.imshow(first["picture"], origin="lower", cmap=density_colours())
        axes.set_title({"near": "near noise"}.get(name, name.replace("blown ", "covariance × ")), fontsize=8)
        axes.set(xticks=[], yticks=[], xlabel=f"KL {float(first['kl']):.2g}")
    panels = grid[1].subgridspec(1, 2, wspace=0.12)
    labels = ["noise's centre, data deviations away", "noise's covariance over the default's"]
    for i, names in enumerate((MOVED, BLOWN)):
        axes = figure.add_subplot(panels[0, i])
        for line in np.stack([stacked(seeds, name, "kl") for name in names], axis=1):
            axes.semilogy(line, ".-", color=colour("nce"), linewidth=0.9)
        axes.axhline(float(stacked(seeds, "near", "kl").mean()), color=INK, linewidth=0.6, linestyle=":")
        axes.set_xticks(range(4), [f"{NOISES[name][i]:g}" for name in names])
        axes.set(xlabel=labels[i], ylabel="KL(data‖model), nats" if i == 0 else "")

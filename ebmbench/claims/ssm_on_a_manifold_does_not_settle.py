"""Sliced score matching does not settle on a manifold, and does once data carry a little noise

Its loss has the expectation J = E[½‖s‖² + tr ∇s]. On data that fill the space J is bounded below, by −½E‖s_data‖². On a
manifold it is not: a score that vanishes there and falls off ever more steeply across it, s = −λ·(x − nearest point),
has J = −λ·(codimension). With noise of deviation σ the bound is back, about −½·codimension/σ². The source (after Song &
Ermon 2019, figure 1) shows CIFAR-10's loss alone; here the manifold is known: the closed curve (cos kt, sin kt), k = 1
… 5, in ten dimensions.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Generator, Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.config.sections import Training
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.experiment.data import make_data
from ebmbench.methods import ssm
from ebmbench.models import mlp
from ebmbench.report.figures.theme import FAINT, INK, colour

PAPER = "Song & Ermon (2019), figure 1, as in Amini, section 6, losses with and without noise"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"

CLAIM = Claim(
    sentence="On data of a lower-dimensional manifold the loss of sliced score matching keeps falling and fluctuating; "
    "with noise that cannot be seen it converges.",
    here="ssm and an MLP on a closed curve in ten dimensions, in place of images. The noise has 0.04 of the data's "
    "deviation, as 0.01 has of the pixels of CIFAR-10 in [0, 1]. Fluctuation is that from row to row of the history, "
    "over the last half of training; the fall is from the third quarter to the last. The learning rate goes down to "
    "zero in both, which quietens the end of either curve.",
    seeds=5,
    arms=("without", "with"),
    criteria=(
        Criterion(
            "fluctuates",
            "the loss's fluctuation without noise over that with",
            "above",
            math.log(3),
            math.log(10),
            logarithm="ratio",
        ),
        Criterion("runs_off", "relative fall of the loss without noise", "above", 0.1, 0.5),
        Criterion("settles", "the same with noise", "below", 0.1, 0.03),
    ),
    caption="The loss along training, a line per seed; dotted, the lowest that any score can reach with noise. Right: "
    "how much the loss fell from each quarter of training to the next, relative to its size.",
    pilots="The two bounds on the fall were written after a look at one seed (0.65 and 0.055).",
)

NAME = "ssm_on_a_manifold_does_not_settle"
WAVES = 5  # k = 1 … 5
NOISE = {"without": 0.0, "with": 0.04}  # in units of the data's deviation
EVENTS, CENTRES = 20_000, 4000
TRAINING = {arm: Training(budget=4_000_000, data_noise=noise) for arm, noise in NOISE.items()}


def measure(arm: str, seed: int, bench: Bench) -> dict[str, NDArray[np.float64] | float]:
    """The loss along training, and with noise the least that there is."""
    train, test = (on_the_curve(EVENTS, stream(seed, "claim", NAME, split)) for split in ("train", "test"))
    data = make_data("curve", train, test)
    run = bench.train(ssm, ssm.Settings(learning_rate=5e-3), data, mlp.Settings(), TRAINING[arm], seed)
    least = lowest(NOISE[arm] * data.facts.unit, stream(seed, "claim", NAME, "lowest")) if NOISE[arm] else -math.inf
    return {"loss": run.history["loss"], "passes": run.history["passes"], "lowest": least}


def curve(t: Tensor) -> Tensor:
    """Points `(N, 10)` at angles `(N,)`; each coordinate has mean 0 and variance ½, and none depends on another."""
    waves = t[:, None] * torch.arange(1, WAVES + 1)
    return torch.cat([waves.cos(), waves.sin()], dim=1)


def on_the_curve(count: int, generator: Generator) -> Tensor:
    """Points at even angles."""
    return curve(2 * math.pi * torch.rand(count, generator=generator))


def lowest(sigma: float, generator: Generator) -> float:
    """−½E‖s‖² of the curve with noise σ, as a mixture of centres that lie closer than σ."""
    t = torch.arange(CENTRES, dtype=torch.float64) * (2 * math.pi / CENTRES)
    mixture = Mixture(curve(t), torch.ones(CENTRES), deviation=sigma)
    x = mixture.sample(500, generator).double()
    return -0.5 * float(mixture.score(x).square().sum(1).mean())


def falls(loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much the mean loss of each quarter of training lies below that of the one before, relative to its size."""
    means = np.array([part.mean() for part in np.array_split(loss, 4)])
    found: NDArray[np.float64] = (means[:-1] - means[1:]) / np.abs(means[:-1])
    return found


def fluctuation(loss: NDArray[np.float64]) -> float:
    """Deviation of a row about its neighbours, in the last half: a trend that is even does not count."""
    return float(np.diff(loss[len(loss) // 2 :]).std() / math.sqrt(2))


def statistics(arms: Arms) -> dict[str, float]:
    """Without noise against with."""
    bare, noisy = arms["without"]["loss"], arms["with"]["loss"]
    ratio = math.log(fluctuation(bare) / fluctuation(noisy))
    return {"fluctuates": ratio, "runs_off": float(falls(bare)[-1]), "settles": float(falls(noisy)[-1])}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Losses side by side as in the source, and their falls."""
    axes = figure.subplots(1, 3, width_ratios=[1, 1, 0.7])
    shades = {"without": FAINT, "with": colour("ssm")}
    for axis, (arm, shade) in zip(axes, shades.items(), strict=False):
        for arms in seeds:  # a run that diverged has fewer rows
            axis.plot(arms[arm]["passes"] / 1e6, arms[arm]["loss"], color=shade, linewidth=0.8)
        axis.set(xlabel="network passes (millions)", ylabel="loss", title=f"{arm} noise")
    axes[1].axhline(float(stacked(seeds, "with", "lowest").mean()), color=INK, linewidth=0.8, linestyle=":")
    for place, (arm, shade) in enumerate(shades.items()):
        for arms in seeds:
            shown = falls(arms[arm]["loss"])
            axes[2].semilogy(np.arange(3) + 0.12 * (2 * place - 1), shown, "o", color=shade, markersize=4)
    axes[2].axhline(CLAIM.criteria[1].bound, color=INK, linewidth=0.8, linestyle=":")
    axes[2].set(xticks=[0, 1, 2], xticklabels=["1 → 2", "2 → 3", "3 → 4"], xlabel="quarters", ylabel="relative fall")

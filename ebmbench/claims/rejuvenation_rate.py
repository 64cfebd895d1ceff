"""Rejuvenation: without any the energy becomes a constant, with nothing else long chains collapse, 10 to 25 % is best.

The chains of training live in a buffer, of which a share ℛ restarts from noise each time it is drawn. Xu says that

- at ℛ = 0 the model learns the trivial solution E(x) = c,
- at ℛ = 100 % (every chain starts from noise) long runs of its sampler collapse to few modes,
- ℛ between 10 and 25 % works well, and its long runs collapse less.

A constant energy is told by the spread of E over test images, the same images with their pixels shuffled, and noise,
beside its spread at ℛ = 25 %; the perceptron has no confining quadratic here, so that nothing stands in its way.
Collapse is what the benchmark calls so: long runs have a FID of 1.5 times that of short runs or more.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.digits_protocol import MODEL, SAMPLER, from_noise, open_digits, protocol
from ebmbench.config.sections import Divergence, Health
from ebmbench.core.streams import stream
from ebmbench.experiment.data import Data
from ebmbench.methods import adance
from ebmbench.report.figures.theme import INK, PALETTE, plain_ticks

PAPER = "Xu (2022), section 3.2.1 and figure 3.1"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"
NAME = "rejuvenation_rate"

RATES = ("0", "0.1", "0.25", "1")
GOOD = ("0.1", "0.25")
SHOWN = 8  # images of long runs, for the figure

CLAIM = Claim(
    sentence="With no rejuvenation the energy becomes constant, with 100 % long-run chains collapse, and 10 to 25 % "
    "give the best long-run chains.",
    here="adance with 𝒦 = 1 on digits, settings of the benchmark but for ℛ, half its budget, no confinement. 500 "
    "chains from noise: short runs have 100 steps, long ones 1000. The source trains ConvNets with chains of 100 "
    "steps.",
    seeds=5,
    arms=RATES,
    criteria=(
        Criterion(
            "trivial",
            "spread of E at ℛ = 0 over that at 25 %",
            "below",
            math.log(0.1),
            math.log(0.01),
            logarithm="ratio",
        ),
        Criterion(
            "collapse",
            "FID of long over short runs at ℛ = 100 %",
            "above",
            math.log(Health().collapse),
            expected=math.log(3),
            logarithm="ratio",
        ),
        Criterion(
            "best",
            "long runs' FID at 10 and 25 % (mean) over the better one of 0 and 100 %",
            "below",
            -math.log(1.1),
            expected=-math.log(2),
            logarithm="ratio",
        ),
    ),
    caption="Left: spread of E over images, shuffled images and noise. Middle: FID of short and long runs. Right: "
    "entropy of the classes among long-run chains (1: all equally often). Dots are seeds. Below: long-run chains of "
    "the first seed.",
)

BUDGET = 1_500_000  # network passes: half of what the benchmark spends on digits
SHORT, LONG = 100, 1000
TINY = 1e-12  # for a spread of nothing at all, of which there is no logarithm


def measure(arm: str, seed: int, bench: Bench) -> dict[str, NDArray[np.float32] | float]:
    """Spread of the energy; FID and class entropy of short and long runs."""
    data, rate = open_digits(bench), float(arm)
    settings = adance.Settings(learning_rate=5e-4, sampler=SAMPLER, interval=1, temperature=1.0, rejuvenation=rate)
    model = MODEL.model_copy(update={"confinement": 0.0})
    # A run that learns E = c is what is looked for here, and must not be given up and judged by its state before.
    training = protocol(BUDGET).model_copy(update={"divergence": Divergence(flat=0.0, drift=0.0)})
    run = bench.train(adance, settings, data, model, training, seed)
    found: dict[str, NDArray[np.float32] | float] = {"diverged": float(run.diverged)}
    found["spread"] = float(run.trained.energy(probes(data, seed)).std())
    for name, steps in [("short", SHORT), ("long", LONG)]:
        x = from_noise(run, data.facts, SAMPLER.model_copy(update={"steps": steps}), seed, NAME, name)
        found[f"{name}_fid"] = bench.fidelity(data, x)["fid"]
        found[f"{name}_entropy"] = entropy(bench.classifier(data).classify(x), len(data.facts.classes))
    found["images"] = x[:SHOWN, 0].numpy()
    return found


def probes(data: Data, seed: int) -> Tensor:
    """Test images, the same with their pixels shuffled, and as much noise: what an energy should tell apart."""
    shuffle = torch.rand(data.test.flatten(1).shape, generator=stream(seed, "claim", NAME, "shuffle")).argsort(1)
    shuffled = data.test.flatten(1).gather(1, shuffle).reshape(data.test.shape)
    return torch.cat([data.test, shuffled, data.facts.starts(len(data.test), stream(seed, "claim", NAME, "noise"))])


def entropy(classes: Tensor, count: int) -> float:
    """Of the classes found, over log(count)."""
    share = torch.bincount(classes, minlength=count).double() / len(classes)
    return float(torch.special.entr(share).sum()) / math.log(count)


def statistics(arms: Arms) -> dict[str, float]:
    """One number for each part of the claim."""
    long = {arm: math.log(float(arms[arm]["long_fid"])) for arm in RATES}
    good = sum(long[arm] for arm in GOOD) / len(GOOD)
    return {
        "trivial": math.log(max(float(arms["0"]["spread"]), TINY) / float(arms["0.25"]["spread"])),
        "collapse": long["1"] - math.log(float(arms["1"]["short_fid"])),
        "best": good - min(long["0"], long["1"]),
    }


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Three numbers by ℛ, and what the long-run chains look like (figure 3.1)."""
    figure.set_size_inches(10, 4.0)
    grid = figure.add_gridspec(2, 12, height_ratios=[4, 1])
    axes = [figure.add_subplot(grid[0, place : place + 4]) for place in (0, 4, 8)]
    below = [figure.add_subplot(grid[1, place : place + 3]) for place in (0, 3, 6, 9)]
    drawn = [
        (0, "spread", PALETTE[0], None),
        (1, "short_fid", PALETTE[5], "short runs"),
        (1, "long_fid", PALETTE[1], "long runs"),
    ]
    for place, key, shade, label in [*drawn, (2, "long_entropy", PALETTE[1], None)]:
        values = np.stack([stacked(seeds, arm, key) for arm in RATES])
        axes[place].plot(values, ".", color=shade, alpha=0.5)
        axes[place].plot(np.exp(np.log(values).mean(1)), "_-", color=shade, markersize=14, linewidth=0.8, label=label)
    for one, label in zip(axes, ("spread of the energy", "FID", "class entropy of long runs"), strict=True):
        one.set_xticks(range(len(RATES)), [f"{100 * float(rate):g} %" for rate in RATES])
        one.set(xlabel="rejuvenation $\\mathcal{R}$", ylabel=label)
    axes[0].set_ylim(0, None)  # 0 is a constant
    axes[1].set_yscale("log")
    plain_ticks(axes[1].yaxis, *axes[1].get_ylim())
    axes[1].legend()
    axes[2].set_ylim(0, 1.05)
    for one, rate in zip(below, RATES, strict=True):
        one.imshow(np.concatenate([*seeds[0][rate]["images"]], axis=1), cmap="gray", vmin=-1, vmax=1)
        one.set_xticks([])
        one.set_yticks([])
        one.set_title(f"{100 * float(rate):g} %", color=INK, fontsize=8)

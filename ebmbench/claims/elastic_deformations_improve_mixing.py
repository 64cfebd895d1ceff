"""Elastic deformations inside the chain improve mixing and the learned landscape

A chain of image energies stays in the minimum that it fell into. Transitions that warp the image a little leap over the
hills between minima (`samplers/elastic_langevin.py`). The source warps every chain that it takes from its buffer in
training, and every 100 steps at test time, and compares: trained and sampled with deformations, without, and trained
without but sampled with. The first mixes; the others fall into one deep hole: deformations help training most.

How well chains mix is told by what they remember: the share of chains from held-out images that still show their first
digit, which for chains that have forgotten it is that of two digits drawn at random, a tenth.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.digits_protocol import MLE, MODEL, SAMPLER, open_digits, protocol
from ebmbench.core.streams import stream
from ebmbench.methods import mle
from ebmbench.report.figures.theme import FAINT, INK, PALETTE
from ebmbench.samplers import elastic_langevin
from ebmbench.samplers.common.chain import SamplerSettings

PAPER = "Gagnon & Lajoie, sections 5.3.2 and 6.3, figure 5"
YEAR = 2022
LINK = "https://arxiv.org/abs/2202.12176"

CLAIM = Claim(
    sentence="Chains that are trained and sampled with elastic deformations mix much better than chains that are "
    "neither, and do not fall into a hole in the end; deformations in training give a better energy, also where both "
    "are sampled with them.",
    here="mle on digits, an MLP in place of a ConvNet, with and without deformations at equal budgets of passes (a "
    "deformation costs none). They move pixels by half of one, as MNIST's by 1.75, which leaves 96 % of held-out "
    "images their digit. Chains of 2000 steps (the source: 20 000), 300 from held-out images, 300 from noise.",
    seeds=6,
    arms=("plain", "elastic"),
    criteria=(
        Criterion(
            "mixing", "share that still shows its first digit, with deformations less without", "below", -0.1, -0.5
        ),
        Criterion(
            "landscape",
            "FID from noise, trained with over without, both sampled with",
            "below",
            -math.log(1.1),
            -math.log(2),
            logarithm="ratio",
        ),
        Criterion(
            "samples",
            "FID from noise, trained and sampled with over neither",
            "below",
            -math.log(1.1),
            -math.log(2),
            logarithm="ratio",
        ),
    ),
    caption="Trained and sampled with or without deformations. Left: share of chains from held-out images that still "
    "show their first digit; dotted, chance. Middle: FID of chains from noise. Means of all seeds. Right: two "
    "chains of the first seed from held-out images, every 200 steps.",
    pilots="The third criterion was added after a pilot in which the first two held: the source compares these very "
    "chains, and their samples were worse. Bilinear interpolation, tried first, blurs more. A fifth of a pixel "
    "gave almost no gain in mixing.",
)

NAME = "elastic_deformations_improve_mixing"
CHAINS, LENGTHS, SHOWN = 300, (100, 100, 300, 500, 1000), 2  # 2000 steps; cut where a deformation falls due
FILM = 10  # moments of a chain in the figure
# In training a run of 20 steps is warped once, at its start: whenever chains are taken from the buffer.
WARPED = elastic_langevin.Settings(**SAMPLER.model_dump(exclude={"kind"}), every=100, amplitude=0.5, smoothness=2.0)
SAMPLERS: dict[str, SamplerSettings] = {"plain": SAMPLER, "elastic": WARPED}
# How a model is trained and how it is sampled, in the order of the source's figure.
KINDS = (("elastic", "elastic"), ("plain", "plain"), ("plain", "elastic"))


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """For chains sampled with and without deformations: what they remember of their digit, and FID from noise."""
    data, found = open_digits(bench), {}
    settings = MLE.model_copy(update={"sampler": SAMPLERS[arm]})
    energy = bench.train(mle, settings, data, MODEL, protocol(), seed).trained.judged
    images, classify = data.test[:CHAINS], bench.classifier(data).classify
    noise = data.facts.starts(CHAINS, stream(seed, "claim", NAME, "noise"))
    for name, sampler in [(name, SAMPLERS[name]) for trained, name in KINDS if trained == arm]:
        chains = walked(sampler, energy, images, seed, name, "images")
        found[f"{name}_kept"] = np.array([float((classify(x) == classify(images)).double().mean()) for x in chains])
        ends = walked(sampler, energy, noise, seed, name, "noise")
        found[f"{name}_fid"] = np.array([bench.fidelity(data, x)["fid"] for x in ends])
        found[f"{name}_film"] = film(sampler, energy, images[[5, 17]], seed)
    return found


def walked(sampler: SamplerSettings, energy: torch.nn.Module, x: Tensor, seed: int, *name: str) -> list[Tensor]:
    """Chains after each part of the run."""
    generator, chains = stream(seed, "claim", NAME, *name), []
    for steps in LENGTHS:
        x = sampler.model_copy(update={"steps": steps}).run(energy, x, generator).x
        chains.append(x)
    return chains


def film(sampler: SamplerSettings, energy: torch.nn.Module, x: Tensor, seed: int) -> Any:
    """A few chains at even moments, `(B, moments, H, W)`."""
    generator, moments = stream(seed, "claim", NAME, "film"), [x]
    for _ in range(FILM):
        step = sampler.model_copy(update={"steps": sum(LENGTHS) // FILM})
        moments.append(step.run(energy, moments[-1], generator).x)
    return torch.cat(moments, dim=1).numpy()


def statistics(arms: Arms) -> dict[str, float]:
    """At the end of the chains: each sampled as it was trained, and both sampled with deformations."""
    memory = arms["elastic"]["elastic_kept"][-1] - arms["plain"]["plain_kept"][-1]
    both = arms["elastic"]["elastic_fid"][-1]
    return {
        "mixing": float(memory),
        "landscape": math.log(both / arms["plain"]["elastic_fid"][-1]),
        "samples": math.log(both / arms["plain"]["plain_fid"][-1]),
    }


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Memory and FID along chains, and chains."""
    figure.set_size_inches(10, 3.6)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.4, 1])[0]
    axes = left.subplots(1, 2)
    _lines(axes[0], seeds, "kept", "share that shows its first digit")
    _lines(axes[1], seeds, "fid", "FID from noise")
    axes[0].axhline(0.1, color=INK, linewidth=0.8, linestyle=":")
    axes[0].set(ylim=(-0.25, 1), yticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    axes[1].set_yscale("log")
    axes[1].set_yticks([2, 5, 10, 20], ["2", "5", "10", "20"])
    axes[1].minorticks_off()
    axes[0].legend(loc="lower left", fontsize=7.5)
    panels = right.subplots(len(KINDS) * SHOWN, 1)
    for place, (trained, sampled) in enumerate(KINDS):
        for row, axis in enumerate(panels[SHOWN * place : SHOWN * (place + 1)]):
            axis.imshow(np.hstack(seeds[0][trained][f"{sampled}_film"][row]), cmap="gray", vmin=-1, vmax=1)
            axis.set(xticks=[], yticks=[])
            label = _said(trained, sampled).replace(", ", "\n")
            axis.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)


def _lines(axes: Axes, seeds: Sequence[Arms], what: str, label: str) -> None:
    shades = (PALETTE[5], FAINT, PALETTE[1])
    for (trained, sampled), shade in zip(KINDS, shades, strict=True):
        values = stacked(seeds, trained, f"{sampled}_{what}")
        line = np.exp(np.log(values).mean(0)) if what == "fid" else values.mean(0)
        axes.plot(np.cumsum(LENGTHS), line, "o-", color=shade, markersize=3, label=_said(trained, sampled))
    axes.set(xlabel="steps of the chain", ylabel=label)


def _said(trained: str, sampled: str) -> str:
    words = {"elastic": "with", "plain": "without"}
    return f"trained {words[trained]}, sampled {words[sampled]}"

"""Langevin ignores the weights of distant modes, annealed Langevin restores them

For p = w₁p₁ + w₂p₂ with supports that hardly meet, ∇ log p is ∇ log p₁ near the one and ∇ log p₂ near the other,
whatever the weights: a chain goes to the mode next to its start and stays. Smoothed by a large σ the modes run into one
another and the score knows the weights again; annealed Langevin settles them there and takes them along as σ falls.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.core.streams import stream
from ebmbench.data import unbalanced
from ebmbench.data.common.densities import Mixture
from ebmbench.report.figures.theme import INK, PALETTE
from ebmbench.samplers import annealed_langevin, langevin

PAPER = "Amini, lecture 7, section 6, after Song & Ermon (2019), sections 3.2.2 and 4.3, figure 3"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"

# As Song & Ermon (2019) in their published code: chains from a uniform start on [−8, 8]², these steps and levels.
CHAINS, REACH = 1280, 8.0
LANGEVIN = langevin.Settings(steps=1000, step_size=0.1)
ANNEALED = annealed_langevin.Settings(steps=100, step_size=0.1, sigma_max=20.0, sigma_min=1.0, levels=10)

CLAIM = Claim(
    sentence="Langevin's samples fall on distant modes evenly, whatever their weights; annealed Langevin's keep them.",
    here="0.2 N((−5,−5), I) + 0.8 N((5,5), I) with its exact score, and the benchmark's langevin and annealed_langevin "
    "with the source's numbers of chains, steps and levels. The weight of the lesser mode is the share of samples next "
    "to it. Both are run on even weights too: what a sampler knows of the weights is how far its samples follow them.",
    seeds=10,
    criteria=(
        Criterion("langevin", "error of the lesser mode's weight, Langevin", "above", 0.2, expected=0.3),
        Criterion("blind", "Langevin's answer to weights 0.5 in place of 0.2", "below", 0.05, expected=0.0),
        Criterion("annealed", "error of the lesser mode's weight, annealed Langevin", "below", 0.05, expected=0.0),
        Criterion("seeing", "annealed Langevin's answer to weights 0.5 in place of 0.2", "above", 0.2, expected=0.3),
    ),
    caption="Independent draws, Langevin's samples and annealed Langevin's (first seed), and the weight that the "
    "lesser mode has in them, a dot per seed; the lines are the exact weights, 0.2 and 0.5.",
)


class Exact:
    """A known density as an energy with a score."""

    def __init__(self, density: Mixture) -> None:
        self.density = density

    def __call__(self, x: Tensor) -> Tensor:
        """−log p(x)."""
        return -self.density.log_prob(x)

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        """∇ log p(x)."""
        return self.density.score(x)


class Ladder(Exact):
    """The same at every noise level: at σ the modes are σ wide, as in the source, and at the last as they are."""

    def given(self, sigma: Tensor) -> Exact:
        """The density smoothed until its modes have deviation σ, which all events share."""
        more = float(sigma[0]) ** 2 - self.density.deviation**2
        return Exact(self.density.smoothed(math.sqrt(max(more, 0.0))))


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """The samples of both samplers, and the lesser mode's weight in them, for uneven and for even weights."""
    exact = unbalanced.density()
    found: dict[str, Any] = {"exact": exact.sample(CHAINS, stream(seed, "claim", "exact")).numpy()}
    for weights, density in [("uneven", exact), ("even", Mixture(exact.centres, torch.ones(2), exact.deviation))]:
        start = REACH * (2 * torch.rand(CHAINS, 2, generator=stream(seed, "claim", "start"), dtype=torch.float64) - 1)
        for name, settings, energy in [("langevin", LANGEVIN, Exact(density)), ("annealed", ANNEALED, Ladder(density))]:
            x = settings.run(energy, start, stream(seed, "claim", name)).x
            found[f"{name}_{weights}"] = lesser(x, density)
            if weights == "uneven":
                found[name] = x.float().numpy()
    return found


def lesser(x: Tensor, density: Mixture) -> float:
    """The share of samples that are next to the first mode; not a number if any is lost."""
    if not torch.isfinite(x).all():
        return float("nan")
    return float((torch.cdist(x.double(), density.centres).argmin(1) == 0).double().mean())


def statistics(arms: Arms) -> dict[str, float]:
    """Errors of the weight, and what changing the weights changes."""
    found = {name: float(value) for name, value in arms["all"].items() if name.endswith("even")}
    weight = float(unbalanced.density().weights[0])
    return {
        "langevin": abs(found["langevin_uneven"] - weight),
        "blind": abs(found["langevin_even"] - found["langevin_uneven"]),
        "annealed": abs(found["annealed_uneven"] - weight),
        "seeing": found["annealed_even"] - found["annealed_uneven"],
    }


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Three clouds and the weights."""
    panels = figure.subplots(1, 4)
    shades = {"exact": INK, "langevin": PALETTE[1], "annealed": PALETTE[5]}
    titles = {"exact": "independent draws", "langevin": "Langevin", "annealed": "annealed Langevin"}
    for axes, name in zip(panels, titles, strict=False):
        x = seeds[0]["all"][name]
        axes.plot(x[:, 0], x[:, 1], ".", color=shades[name], markersize=2, alpha=0.6)
        axes.set(xlim=(-10, 10), ylim=(-10, 10), xticks=[-5, 0, 5], yticks=[-5, 0, 5], xlabel=titles[name])
        axes.set_aspect("equal")
    last = panels[3]
    places = [("langevin", "uneven"), ("annealed", "uneven"), ("langevin", "even"), ("annealed", "even")]
    for place, (name, weights) in enumerate(places):
        values = stacked(seeds, "all", f"{name}_{weights}")
        last.plot(place + np.linspace(-0.2, 0.2, len(values)), values, ".", color=shades[name])
    for start, weight in [(-0.5, 0.2), (1.5, 0.5)]:
        last.plot([start, start + 2], [weight, weight], color=INK, linewidth=0.8)
    last.set_box_aspect(1)
    last.set(ylim=(0, 0.7), ylabel="weight of the lesser mode")
    last.set_xticks([0.5, 2.5], ["exactly 0.2", "exactly 0.5"])

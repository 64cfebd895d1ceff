"""Random-walk Metropolis draws the two bumps, and Metropolis-adjusted Langevin the banana

The bumps are 3 exp(−(x + 2)²/2) + exp(−(x − 4)²/8), which is 0.6 N(−2, 1) + 0.4 N(4, 4) up to a constant; the banana is
exp(−a x₁² − (x₂ − x₁²)²) with a = 0.2, so x₁ ~ N(0, 1/2a) and x₂ given x₁ ~ N(x₁², ½). Both have distribution functions
in closed form: they send exact draws to uniform numbers, whose histogram over k equally likely cells is off by a total
variation of √(k/2πn) on average after n independent draws. The samplers' draws are held to that.

The lecture calls the second sampler Langevin Monte Carlo: a leapfrog step and the rule of Metropolis, which is MALA
with step η². It names the banana without a formula; this is the one in the program that made its figure.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.special import ndtr

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.report.figures.theme import INK, PALETTE
from ebmbench.samplers import langevin, mala, random_walk
from ebmbench.samplers.common.chain import SteppingSettings

PAPER = "Ansari (2018), the bumps; Siahkoohi (2023), the banana; both as in Amini, lecture 7, section 3"
YEAR = 2023
LINK = ("https://github.com/abdulfatir/sampling-methods-numpy", "https://github.com/alisiahkoohi/Langevin-dynamics")

CHAINS, A = 1000, 0.2
# Steps before the first draw, draws of each chain, and cells; a chain takes `steps` from one draw to the next.
PLANS = {"bumps": (1000, 20, 40), "banana": (3000, 10, 10)}
RULED = {"bumps": random_walk.Settings(steps=200, step_size=1.0), "banana": mala.Settings(steps=400, step_size=0.5)}

CLAIM = Claim(
    sentence="Random-walk Metropolis draws a density with two bumps, and Langevin with Metropolis' rule the banana.",
    here="The benchmark's random_walk (proposals N(x, 1), as in the source) and mala, 1000 chains from the origin in "
    "place of one chain, thinned. Total variation to the exact cells, over that of as many independent draws, which "
    "the source shows by eye. Langevin with the same step and without the rule is the control: it must fail.",
    seeds=6,
    arms=("bumps", "banana"),
    criteria=(
        Criterion("bumps", "random walk on the bumps: distance / distance of exact draws", "below", 1.5, expected=1.0),
        Criterion("banana", "MALA on the banana: distance / distance of exact draws", "below", 1.5, expected=1.0),
        # Of the law that such a chain tends to, by powers of its kernel; of chains that are all lost.
        Criterion("bumps_control", "Langevin on the bumps, without the rule", "above", 1.5, expected=4.2),
        Criterion("banana_control", "Langevin on the banana, without the rule", "above", 1.5, expected=25.0),
    ),
    caption="Histogram of the random walk's draws on the two bumps' density; exact draws of the banana beside MALA's "
    "(first seed, 2000 each); and the distance to the exact cells over that of exact draws, a dot per seed.",
    pilots="Burn-in and thinning were chosen so that chains forget the origin; after 1000 to 2000 steps MALA had not.",
)


def bumps(x: Tensor) -> Tensor:
    """−log of the two bumps, `(B, 1) -> (B,)`."""
    return -torch.logaddexp(math.log(3) - 0.5 * (x[:, 0] + 2).square(), -(x[:, 0] - 4).square() / 8)


class Banana:
    """E(x) = a x₁² + (x₂ − x₁²)², with its score."""

    def __call__(self, x: Tensor) -> Tensor:
        """E(x)."""
        return A * x[:, 0].square() + (x[:, 1] - x[:, 0].square()).square()

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        """E(x) and −∇E(x)."""
        off = x[:, 1] - x[:, 0].square()
        return self(x), torch.stack([(4 * off - 2 * A) * x[:, 0], -2 * off], dim=1)


ENERGIES: dict[str, Energy] = {"bumps": bumps, "banana": Banana()}


def uniform(arm: str, x: Tensor) -> Tensor:
    """Exact draws as uniform numbers in the unit cube, by their distribution functions."""
    if arm == "bumps":
        return 0.6 * ndtr(x + 2) + 0.4 * ndtr((x - 4) / 2)
    off = x[:, 1] - x[:, 0].square()
    return torch.stack([ndtr(x[:, 0] * math.sqrt(2 * A)), ndtr(off * math.sqrt(2))], dim=1)


def distance(u: Tensor, cells: int) -> float:
    """Total variation of `(n, d)` to equal cells, over its mean for exact draws; draws that are lost lie in none."""
    kept = u[torch.isfinite(u).all(1)]
    places = (kept * cells).long().clamp(0, cells - 1)
    k = cells ** u.shape[1]
    index = (places * cells ** torch.arange(u.shape[1])).sum(1)
    shares = torch.bincount(index, minlength=k).double() / len(u)
    lost = 1 - len(kept) / len(u)
    return float(0.5 * ((shares - 1 / k).abs().sum() + lost)) / math.sqrt(k / (2 * math.pi * len(u)))


def drawn(arm: str, settings: SteppingSettings, generator: torch.Generator, chains: int = CHAINS) -> Tensor:
    """What all chains draw, one draw after the other."""
    burn_in, draws, _ = PLANS[arm]
    x = torch.zeros(chains, 1 if arm == "bumps" else 2, dtype=torch.float64)
    x = settings.model_copy(update={"steps": burn_in}).run(ENERGIES[arm], x, generator).x
    found = []
    for _ in range(draws):
        x = settings.run(ENERGIES[arm], x, generator).x
        found.append(x)
    return torch.cat(found)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """Distances with and without the rule, and the draws."""
    ruled, cells = RULED[arm], PLANS[arm][2]
    free = langevin.Settings(steps=ruled.steps, step_size=ruled.step_size)
    x = drawn(arm, ruled, stream(seed, "claim", arm, "ruled"))
    control = drawn(arm, free, stream(seed, "claim", arm, "free"))
    found = {"ruled": distance(uniform(arm, x), cells), "free": distance(uniform(arm, control), cells)}
    return {**found, "x": x.float().numpy()}


def statistics(arms: Arms) -> dict[str, float]:
    """The four distances."""
    ruled = {name: float(arms[name]["ruled"]) for name in arms}
    return ruled | {f"{name}_control": float(arms[name]["free"]) for name in arms}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Both examples, and the distances."""
    left, exact, right, last = figure.subplots(1, 4, width_ratios=[1.2, 1, 1, 0.8])
    grid = torch.linspace(-7, 12, 400, dtype=torch.float64)
    left.hist(seeds[0]["bumps"]["x"][:, 0], bins=80, range=(-7, 12), density=True, color=PALETTE[2], alpha=0.7)
    left.plot(grid, (-bumps(grid[:, None])).exp() / (5 * math.sqrt(2 * math.pi)), color=INK, linewidth=1)
    left.set(xlabel="random walk on the two bumps", yticks=[])
    noise = torch.randn(2000, 2, generator=stream(0, "figure", "banana"), dtype=torch.float64).numpy()
    first = noise[:, 0] / math.sqrt(2 * A)
    clouds = [np.stack([first, first**2 + noise[:, 1] / math.sqrt(2)], axis=1), seeds[0]["banana"]["x"][::5]]
    for axes, x, shade, label in zip((exact, right), clouds, (INK, PALETTE[5]), ("exact draws", "MALA"), strict=True):
        axes.plot(x[:, 0], x[:, 1], ".", color=shade, markersize=2, alpha=0.5)
        axes.set(xlim=(-6, 6), ylim=(-3, 25), xlabel=label)
    for place, (arm, key) in enumerate((arm, key) for arm in PLANS for key in ("ruled", "free")):
        values = stacked(seeds, arm, key)
        shade = PALETTE[1] if key == "free" else PALETTE[2] if arm == "bumps" else PALETTE[5]
        last.semilogy(place + np.linspace(-0.15, 0.15, len(values)), values, "o", color=shade, markersize=4)
    last.axhline(1.5, color=INK, linewidth=0.8, linestyle=":")
    last.set(ylabel="distance / that of exact draws", xlim=(-0.6, 3.6))
    last.set_xticks(range(4), ["random\nwalk", "no\nrule", "MALA", "no\nrule"])

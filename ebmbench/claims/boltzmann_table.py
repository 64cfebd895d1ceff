"""The printed table of a Boltzmann machine with three units is right

Units are −1 or 1, H(x) = w₁₂x₁x₂ + w₁₃x₁x₃ + w₂₃x₂x₃ + b₂x₂ with w₁₂ = w₁₃ = −1, w₂₃ = 2, b₂ = 1, and
p(x) = exp(H(x))/Z: the source's H is −E. Every printed number is held to enumeration, to half a unit of its last digit;
and the benchmark's Gibbs sampler must visit the states as often as enumeration says. In row (−1, 1, −1) the source
prints H = −3, all three times that it shows the table; the row's own terms add up to −1, and its exp(H) and p are those
of −1. Nothing that follows from the table is touched by it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.core.streams import stream
from ebmbench.report.figures.theme import FAINT, INK, PALETTE
from ebmbench.samplers import gibbs

PAPER = "Beigy (2024), example of a Boltzmann machine (after R. Grosse)"
YEAR = 2024
LINK = "http://www.cs.toronto.edu/~rgrosse/courses/csc321_2017/slides/lec19.pdf"

CLAIM = Claim(
    sentence="The table of a Boltzmann machine with three units: the terms and H of each state, exp(H), probabilities, "
    "the partition function, a marginal and a conditional probability are as printed.",
    here="All numbers by enumeration of the eight states, and frequencies of 20000 chains of the benchmark's Gibbs "
    "sampler after 1000 sweeps from random states.",
    seeds=5,
    criteria=(
        Criterion("energies", "printed terms and H that enumeration contradicts, of 40", "below", 0.5, exact=True),
        Criterion(
            "probabilities",
            "printed exp(H), p, Z, marginal and conditional it contradicts, of 19",
            "below",
            0.5,
            exact=True,
        ),
        # Half of Σ√(2p(1 − p)/πN) is 0.0027.
        Criterion(
            "sampled", "total variation between Gibbs frequencies and enumeration", "below", 0.01, expected=0.0027
        ),
        # By the sampler's kernel, from states drawn evenly.
        Criterion("control", "the same after one sweep, when chains are not there yet", "above", 0.05, expected=0.428),
    ),
    caption="Left: probability of each state (x₁, x₂, x₃) as printed, by enumeration, and as Gibbs chains visit it, a "
    "dot per seed. Right: H as printed and by enumeration; the ring marks the entry that is misprinted.",
)

# x₁, x₂, x₃; w₁₂x₁x₂, w₁₃x₁x₃, w₂₃x₂x₃, b₂x₂, H; exp(H), p.
PRINTED = """
-1 -1 -1   -1 -1  2 -1 -1     0.368 0.0021
-1 -1  1   -1  1 -2 -1 -3     0.050 0.0003
-1  1 -1    1 -1 -2  1 -3     0.368 0.0021
-1  1  1    1  1  2  1  5   148.413 0.8608
 1 -1 -1    1  1  2 -1  3    20.086 0.1165
 1 -1  1    1 -1 -2 -1 -3     0.050 0.0003
 1  1 -1   -1  1 -2  1 -1     0.368 0.0021
 1  1  1   -1 -1  2  1  1     2.718 0.0158
"""
Z, MARGINAL, CONDITIONAL = 172.420, 0.135, 0.980  # Z, p(x₁ = 1), p(x₁ = 1 | x₂ = −1)
CHAINS, SWEEPS = 20_000, 1000
Array = NDArray[np.float64]


def table() -> Array:
    """What is printed, `(8, 10)`."""
    return np.array([line.split() for line in PRINTED.strip().splitlines()], dtype=float)


def terms(x: Tensor) -> Tensor:
    """The four terms of H, `(B, 4)`, for states `(B, 3)`."""
    one, two, three = x.unbind(1)
    return torch.stack([-one * two, -one * three, 2 * two * three, two], 1)


def energy(x: Tensor) -> Tensor:
    """E = −H."""
    return -terms(x).sum(1)


def enumerated() -> tuple[Array, Array]:
    """The same table by enumeration, and Z, the marginal and the conditional."""
    states = torch.from_numpy(table()[:, :3])
    h = -energy(states)
    p = torch.softmax(h, 0)
    first, second = states[:, 0] > 0, states[:, 1] < 0
    derived = torch.stack([h.exp().sum(), p[first].sum(), p[first & second].sum() / p[second].sum()])
    whole = torch.cat([states, terms(states), h[:, None], h.exp()[:, None], p[:, None]], 1)
    return whole.numpy(), derived.numpy()


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """Which printed numbers are wrong, and how often chains are in each state, at the end and after one sweep."""
    whole, derived = enumerated()
    # Half a unit of the last digit, and a little for its rounding.
    digits = np.array([0.5] * 8 + [5e-4, 5e-5]) * (1 + 1e-9)
    wrong = np.abs(table() - whole) > digits
    also = np.abs(np.array([Z, MARGINAL, CONDITIONAL]) - derived) > 5e-4
    generator = stream(seed, "claim", "boltzmann_table", "chains")
    x = 2.0 * torch.randint(2, (CHAINS, 3), generator=generator) - 1
    early = gibbs.Settings(steps=1).run(energy, x, generator).x
    late = gibbs.Settings(steps=SWEEPS - 1).run(energy, early, generator).x
    return {"wrong": wrong, "derived": also, "early": _frequencies(early), "late": _frequencies(late)}


def _frequencies(x: Tensor) -> Array:
    """In the order of the table: x₁ changes slowest, −1 comes first."""
    place = ((x > 0).long() * torch.tensor([4, 2, 1])).sum(1)
    return (torch.bincount(place, minlength=8) / len(x)).double().numpy()


def statistics(arms: Arms) -> dict[str, float]:
    """Counts, and total variations."""
    found, p = arms["all"], enumerated()[0][:, -1]
    early, late = (0.5 * float(np.abs(found[key] - p).sum()) for key in ("early", "late"))
    energies, others = found["wrong"][:, 3:8].sum(), found["wrong"][:, 8:].sum() + found["derived"].sum()
    return {"energies": float(energies), "probabilities": float(others), "sampled": late, "control": early}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Probabilities, and H."""
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    printed, whole, rows = table(), enumerated()[0], np.arange(8)
    for i, late in enumerate(stacked(seeds, "all", "late")):
        left.semilogx(late, rows + 0.25, ".", color=PALETTE[2], label=None if i else "Gibbs")
    left.semilogx(printed[:, -1], rows, "|", markersize=14, markeredgewidth=2, color=FAINT, label="printed")
    left.semilogx(whole[:, -1], rows, ".", color=INK, label="enumerated")
    names = ["({:+.0f}, {:+.0f}, {:+.0f})".format(*row[:3]).replace("-", "−") for row in printed]
    left.set(xlabel="probability", yticks=rows, yticklabels=names)
    left.invert_yaxis()
    left.legend(loc="lower right")
    right.plot(printed[:, 7], rows, "|", markersize=14, markeredgewidth=2, color=FAINT)
    right.plot(whole[:, 7], rows, ".", color=INK)
    for row in np.flatnonzero(seeds[0]["all"]["wrong"][:, 7]):
        right.plot(printed[row, 7], row, "o", markersize=18, fillstyle="none", color=PALETTE[1])
        note = f"printed {printed[row, 7]:.0f}, is {whole[row, 7]:.0f}".replace("-", "−")
        right.annotate(note, (whole[row, 7], row), (12, 0), textcoords="offset points", va="center", color=PALETTE[1])
    right.set(xlabel="H")

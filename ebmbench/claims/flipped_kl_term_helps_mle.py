"""Beside maximum likelihood the KL term helps with Du et al.'s sign, and not with the right one

Du et al. meant to add the term −KL(q_t‖p_θ) that contrastive divergence leaves out, and added +KL(q_t‖p_θ); their
chains start at noise, so what they train is maximum likelihood. Gagnon & Lajoie: there the flipped sign is the useful
one. It draws the chains' law q_t(θ) to the model, which is what the negative phase of

    L = E_data[E] − E_{q_t}[E] + sign · λ · KL(q_t(θ)‖p),   q_t held fixed in the second term, p in the third,

takes them for. In one dimension all of this is exact: q_t is a vector on a grid, a Langevin step a matrix.

The term holds p fixed, but the step that pulls the chains to p moves p as well, and further, since chains are short.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Generator, Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.finite_states import kl
from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import Adam
from ebmbench.report.figures.theme import FAINT, INK, PALETTE

PAPER = "Gagnon & Lajoie, sections 5.4 and 5.4.4; of Du et al. (2021)"
YEAR = 2022
LINK = ("https://arxiv.org/abs/2202.12176", "https://proceedings.mlr.press/v139/du21b.html")

TENTH = math.log(0.9)

CLAIM = Claim(
    sentence="With chains from noise, the KL term with its sign flipped makes the chains' law approach the model and "
    "is a helpful training signal; with the right sign it makes no sense there.",
    here="Mixtures of three Gaussians on a line, energies of 21 smooth bumps, ten Langevin steps, λ = 1; laws on a "
    "grid of 121 points, so that chains are infinitely many and the term is exact, where Du et al. estimate it. Chains "
    "go on in a reservoir of which 5 % restart from noise, as theirs. Steps are fine (η = 0.02) or coarse (0.1, beyond "
    "half a mode's variance, as is usual with images). A seed has six data sets; statistics are geometric means over "
    "them, and over the last quarter of training.",
    seeds=5,
    arms=("fine", "coarse"),
    criteria=(
        Criterion(
            "sampling",
            "KL(q_t‖p_θ) with the flipped sign over that without the term, the larger of both steps",
            "below",
            TENTH,
            math.log(1 / 2),
            logarithm="ratio",
        ),
        *(
            Criterion(
                arm,
                f"KL(data‖p_θ) with the flipped sign over that without the term, {arm} steps",
                "below",
                TENTH,
                math.log(1 / 2),
                logarithm="ratio",
            )
            for arm in ("fine", "coarse")
        ),
        Criterion(
            "right",
            "KL(data‖p_θ) with the right sign, likewise, the smaller of both steps",
            "above",
            TENTH,
            0.0,
            logarithm="ratio",
        ),
    ),
    caption="KL(data‖p_θ) and KL(q_t‖p_θ) along training, the geometric mean of all data sets and seeds, with fine "
    "steps (left two) and coarse steps (right two). Dotted: exact maximum likelihood.",
    pilots="Pilots changed the setting: with coarse steps the flipped sign was better by 12 to 44 %, with finer ones "
    "it made no difference, so both decide; «a tenth less» was the bound from the first of them on. With fine steps "
    "mle without the term ends worse than it started, since its chains do not mix; the term is meant to mend just "
    "that. Chains that all restart at each step, where the flipped sign was better on some data and worse on others, "
    "were left out: they are not what Du et al. train with.",
)

NAME = "flipped_kl_term_helps_mle"
SIGNS = {"without": 0.0, "flipped": 1.0, "right": -1.0}
STEP_SIZES = {"fine": 0.02, "coarse": 0.1}
SETS, STEPS, RATE, ROWS = 6, 600, 0.02, 60
CHAIN, RESTART, WEIGHT = 10, 0.05, 1.0

GRID = torch.linspace(-6, 6, 121, dtype=torch.float64)
CENTRES, WIDTH = torch.linspace(-5, 5, 21, dtype=torch.float64), 0.6
BUMPS = torch.exp(-((GRID[:, None] - CENTRES) ** 2) / (2 * WIDTH**2))
SLOPES = (CENTRES - GRID[:, None]) / WIDTH**2 * BUMPS
NOISE = torch.softmax(-(GRID**2) / 18, 0)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Tensor]:
    """Both divergences `(ROWS, SETS)` along training, without the term and with either sign; and of exact mle."""
    data = densities(stream(seed, "claim", NAME, "data"))
    found: dict[str, Tensor] = {}
    for name, sign in [*SIGNS.items(), ("exact", None)]:
        of_data, of_chains = train(data, STEP_SIZES[arm], sign)
        found |= {f"{name}:data": of_data, f"{name}:chains": of_chains}
    return found


def densities(generator: Generator) -> Tensor:
    """Mixtures of three Gaussians of deviation 0.3 on the grid, `(SETS, points)`."""
    middle = torch.tensor([-2.5, 0.0, 2.5], dtype=torch.float64)
    centres = middle + 2 * torch.rand(SETS, 3, generator=generator, dtype=torch.float64) - 1
    weights = 0.2 + torch.rand(SETS, 3, generator=generator, dtype=torch.float64)
    p = (weights[..., None] * torch.exp(-((GRID - centres[..., None]) ** 2) / (2 * 0.3**2))).sum(1)
    return p / p.sum(1, keepdim=True)


def energy(w: Tensor) -> Tensor:
    """E on the grid for weights `(SETS, bumps)`: bumps on a wide bowl."""
    return w @ BUMPS.T + GRID**2 / 18


def langevin_kernel(w: Tensor, step_size: float) -> Tensor:
    """A Langevin step as a matrix of each data set: row x holds the law of x − ½ηE′(x) + √η·ε."""
    means = GRID - 0.5 * step_size * (w @ SLOPES.T + GRID / 9)
    return torch.softmax(-((GRID - means[..., None]) ** 2) / (2 * step_size), -1)


def train(data: Tensor, step_size: float, sign: float | None) -> tuple[Tensor, Tensor]:
    """KL(data‖p_θ) and KL(q_t‖p_θ) along training; without a sign the negatives are the model's own."""
    w = torch.zeros(SETS, len(CENTRES), dtype=torch.float64, requires_grad=True)
    optimiser, reservoir, rows = Adam([w], lr=RATE, betas=(0.0, 0.999)), NOISE.expand(SETS, -1), []
    for step in range(STEPS):
        optimiser.param_groups[0]["lr"] = 0.5 * RATE * (1 + math.cos(math.pi * step / STEPS))
        e = energy(w)
        model = torch.softmax(-e, 1).detach()
        chains = model if sign is None else run_chains(w, torch.lerp(reservoir, NOISE, RESTART), step_size)
        term = WEIGHT * sign * kl(chains, model).sum() if sign else 0.0
        reservoir = chains.detach()
        if step % (STEPS // ROWS) == 0:
            rows.append(torch.stack([kl(data, model), kl(reservoir, model)]))
        optimiser.zero_grad()
        (((data - reservoir) * e).sum() + term).backward()
        optimiser.step()
    of_data, of_chains = torch.stack(rows, 1)
    return of_data, of_chains


def run_chains(w: Tensor, starts: Tensor, step_size: float) -> Tensor:
    """q_t of each data set, in the graph of the weights."""
    law, kernel = starts[:, None], langevin_kernel(w, step_size)
    for _ in range(CHAIN):
        law = law @ kernel
    return law[:, 0]


def end(measures: np.ndarray) -> float:
    """The mean logarithm over data sets and the last quarter of training."""
    return float(np.log(measures[-ROWS // 4 :]).mean())


def statistics(arms: Arms) -> dict[str, float]:
    """Logarithms of ratios to training without the term."""

    def ratio(arm: str, name: str, which: str) -> float:
        return end(arms[arm][f"{name}:{which}"]) - end(arms[arm][f"without:{which}"])

    return {
        "sampling": max(ratio(arm, "flipped", "chains") for arm in CLAIM.arms),
        "right": min(ratio(arm, "right", "data") for arm in CLAIM.arms),
    } | {arm: ratio(arm, "flipped", "data") for arm in CLAIM.arms}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Both divergences along training, of both kinds of chains."""
    panels, steps = figure.subplots(1, 4, sharey=True), np.arange(ROWS) * (STEPS // ROWS)
    places = [(arm, which) for arm in CLAIM.arms for which in ("data", "chains")]
    for axes, (arm, which) in zip(panels, places, strict=True):
        for name, shade in zip(SIGNS, (FAINT, PALETTE[0], PALETTE[1]), strict=True):
            line = np.exp(np.log(stacked(seeds, arm, f"{name}:{which}")).mean((0, 2)))
            axes.semilogy(steps, line, color=shade, linewidth=1.4, label=f"{name} sign" if SIGNS[name] else name)
        if which == "data":
            exact = np.exp(np.log(stacked(seeds, arm, "exact:data")).mean((0, 2)))
            axes.semilogy(steps, exact, color=INK, linewidth=0.8, linestyle=":")
        said = "KL(data‖model)" if which == "data" else "KL(chains‖model)"
        axes.set(xlabel="steps", title=f"{said}\n{arm}")
    panels[0].set(ylabel="nats")
    panels[1].legend(loc="best")

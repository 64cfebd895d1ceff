"""Ranking NCE is consistent where the binary kind, with one constant for all contexts, is not

Of an outcome y given a context x the model is p(y | x) ∝ exp s(x, y), with a normaliser Z(x). Binary NCE tells
outcomes from noise by s(x, y) − c − log p_n(y), so it must know or learn log Z(x). With one constant for all contexts,
learned or set to 0, no parameters give the right classifier unless Z is the same everywhere, and what is learned is
wrong however many data there are. Ranking the datum among K noise events needs differences of s in one context only,
and there log Z(x) cancels.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Generator, Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.core.streams import stream
from ebmbench.methods import nce, rank_nce
from ebmbench.report.figures.theme import FAINT, PALETTE, colour

PAPER = "Ma & Collins (2018), sections 3 and 4; Xu (2022), section 2.2.3.3 after eq. 2.16"
YEAR = 2018
LINK = ("https://arxiv.org/abs/1809.01812", "https://arxiv.org/abs/2211.02650")

CLAIM = Claim(
    sentence="Ranking NCE is consistent for a broader class of models than binary NCE: for conditional models too "
    "whose normaliser differs from context to context, where binary NCE with one constant is wrong with any number of "
    "data.",
    here="Log-linear models s = f(x, y)ᵀθ of random features, four contexts, six outcomes, uniform noise, K = 2. All "
    "tuples of a context, a datum and its noise are enumerated, so the population's optimum of the benchmark's two "
    "objectives is exact; samples are counts of tuples, and both methods see the same. The error is ‖θ − θ*‖/‖θ*‖. "
    "With a constant for each context binary NCE is right too: the constant alone is at fault.",
    seeds=5,
    arms=("population", "samples"),
    offset=10,
    criteria=(
        Criterion("rank", "error of ranking at the population's optimum", "below", 1e-8, exact=True),
        Criterion("one", "the same of binary NCE, one learned constant", "above", 0.02, exact=True),
        Criterion("zero", "the same, the constant 0", "above", 0.02, exact=True),
        Criterion("each", "control: the same, a learned constant for each context", "below", 1e-8, exact=True),
        Criterion(
            "vanishes",
            "error of ranking from a million data over that from 10 000",
            "below",
            math.log(1 / 5),
            math.log(1 / 10),
            logarithm="ratio",
        ),
        Criterion(
            "stays",
            "the same of binary NCE, one learned constant",
            "above",
            math.log(1 / 2),
            0.0,
            logarithm="ratio",
        ),
    ),
    caption="Left: error of the parameters by the number of data, root mean square of eight samples, a line per seed; "
    "dotted, the errors of binary NCE in the population. Right: errors in the population, a dot per seed.",
    pilots="No rule was changed. The first ten seeds are skipped: at some of them the search for the optimum stopped "
    "at 1e-8, from rounding, or failed, and it was mended then.",
)

CONTEXTS, OUTCOMES, FEATURES, NOISE = 4, 6, 3, 2
SIZES, SAMPLES = (1_000, 10_000, 100_000, 1_000_000), 8
METHODS = ("rank", "one", "zero", "each")
CONSTANTS = {  # of each context, from what is learned beside θ
    "one": (1, lambda c: c.expand(CONTEXTS)),
    "zero": (0, lambda c: torch.zeros(CONTEXTS, dtype=torch.float64)),
    "each": (CONTEXTS, lambda c: c),
}


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Tensor]:
    """Errors by method, of samples also by size; the spread of log Z(x) over contexts."""
    draw = stream(seed, "claim", "rank_nce_needs_no_constant", arm)
    model = stream(seed, "claim", "rank_nce_needs_no_constant", "model")
    features = torch.randn(CONTEXTS, OUTCOMES, FEATURES, generator=model, dtype=torch.float64)
    truth = torch.randn(FEATURES, generator=model, dtype=torch.float64)
    tuples = population(features, truth)
    if arm == "population":
        return {name: error(fit(name, features, tuples), truth) for name in METHODS} | {
            "log_z": (features @ truth).logsumexp(1)
        }
    return {name: torch.stack([_typical(name, features, truth, n, draw) for n in SIZES]) for name in ("rank", "one")}


def population(features: Tensor, truth: Tensor) -> Tensor:
    """The probability of each tuple of a context, a datum and its noise, `(CONTEXTS, OUTCOMES, OUTCOMES, …)`."""
    datum = torch.softmax(features @ truth, 1) / CONTEXTS
    return datum.reshape(*datum.shape, *[1] * NOISE).expand(-1, -1, *[OUTCOMES] * NOISE) / OUTCOMES**NOISE


def _typical(name: str, features: Tensor, truth: Tensor, size: int, generator: Generator) -> Tensor:
    """The root mean square error of a few samples of so many tuples; the same samples for each method."""
    state, tuples = generator.get_state(), population(features, truth)
    squares = []
    for _ in range(SAMPLES):
        drawn = torch.multinomial(tuples.flatten(), size, replacement=True, generator=generator)
        counts = torch.bincount(drawn, minlength=tuples.numel()).double().reshape(tuples.shape) / size
        squares.append(error(fit(name, features, counts), truth) ** 2)
    generator.set_state(state)
    return torch.stack(squares).mean().sqrt()


def fit(name: str, features: Tensor, tuples: Tensor) -> Tensor:
    """θ where the objective of a method is least, expected under these weights of tuples."""
    if name == "rank":
        return minimum(lambda w: ranking(w, features, tuples), FEATURES)
    free, constants = CONSTANTS[name]
    return minimum(lambda w: binary(w, constants(w[FEATURES:]), features, tuples), FEATURES + free)[:FEATURES]


def ranking(theta: Tensor, features: Tensor, tuples: Tensor) -> Tensor:
    """The expected loss of rank_nce."""
    s = features @ theta
    places = torch.cartesian_prod(*[torch.arange(size) for size in tuples.shape])

    def one(place: Tensor) -> Tensor:
        events = torch.stack([place[0].expand(NOISE + 1), place[1:]], 1)
        return rank_nce.rank_noise_contrastive(lambda u: -s[u[:, 0], u[:, 1]], events[:1], events[1:], log_uniform)

    return tuples.flatten() @ torch.vmap(one)(places)


def binary(theta: Tensor, constants: Tensor, features: Tensor, tuples: Tensor) -> Tensor:
    """The expected loss of nce. It is a(datum) + Σ b(noise): each is averaged with the other at one place."""
    e = constants[:, None] - features @ theta[:FEATURES]
    places, zero = torch.cartesian_prod(torch.arange(CONTEXTS), torch.arange(OUTCOMES)), torch.zeros(())

    def one(datum: Tensor, noise: Tensor) -> Tensor:
        events = noise[None].expand(NOISE, -1)
        return nce.noise_contrastive(lambda u: e[u[:, 0], u[:, 1]], zero, datum[None], events, log_uniform)

    others = list(range(2, NOISE + 2))
    of_datum = tuples.sum(others).flatten()
    of_noise = torch.stack([tuples.sum([d for d in range(1, NOISE + 2) if d != dim]) for dim in others]).mean(0)
    at_datum = torch.vmap(lambda u: one(u, places[0]))(places)
    at_noise = torch.vmap(lambda u: one(places[0], u))(places)
    return of_datum @ at_datum + of_noise.flatten() @ at_noise - one(places[0], places[0])


def log_uniform(events: Tensor) -> Tensor:
    """log p_n of each event."""
    return torch.full((len(events),), -math.log(OUTCOMES), dtype=torch.float64)


def minimum(loss: Callable[[Tensor], Tensor], size: int) -> Tensor:
    """Where a smooth convex function of so many numbers is least: Newton's method, with steps halved until it falls."""
    w, slope = torch.zeros(size, dtype=torch.float64), torch.func.grad(loss)
    for _ in range(60):
        step = torch.linalg.solve(torch.func.jacrev(slope)(w), slope(w))
        while step.norm() > 1e-4 and not loss(w - step) < loss(w):  # nearer, the fall is lost in rounding
            step = step / 2
        w = w - step
        if step.norm() < 1e-9:
            break
    return w


def error(theta: Tensor, truth: Tensor) -> Tensor:
    """‖θ − θ*‖/‖θ*‖."""
    return (theta - truth).norm() / truth.norm()


def statistics(arms: Arms) -> dict[str, float]:
    """Errors in the population, and how they change with a hundred times the data."""
    found = {name: float(arms["population"][name]) for name in METHODS}
    vanishes, stays = (float(np.log(arms["samples"][name][-1] / arms["samples"][name][1])) for name in ("rank", "one"))
    return {**found, "vanishes": vanishes, "stays": stays}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Errors by size, and of the population."""
    left, right = figure.subplots(1, 2, width_ratios=[1.4, 1])
    shades = {"rank": colour("rank_nce"), "one": colour("nce"), "zero": PALETTE[4], "each": PALETTE[2]}
    for name, label in (("one", "binary, one constant"), ("rank", "ranking")):
        for i, line in enumerate(stacked(seeds, "samples", name)):
            left.loglog(SIZES, line, ".-", color=shades[name], linewidth=0.9, label=label if i == 0 else None)
    for limit in stacked(seeds, "population", "one"):
        left.axhline(limit, color=FAINT, linewidth=0.8, linestyle=":")
    left.set(xlabel="data", ylabel="error of the parameters")
    left.legend()
    for place, name in enumerate(METHODS):
        values = np.maximum(stacked(seeds, "population", name), 1e-17)
        right.semilogy(np.full(len(values), place), values, "o", color=shades[name], markersize=4)
    right.set_xticks(range(4), ["ranking", "one\nconstant", "constant 0", "one for each\ncontext"])
    right.set(ylabel="error in the population", xlim=(-0.5, 3.5))

"""Sliced score matching is consistent, and has a larger variance than with Hutchinson's trace

Both average to implicit score matching over directions v with E[vvᵀ] = I, for E[(vᵀs)²] = ‖s‖²: an equality over all
vectors of signs. The plain form ½(vᵀs)² + vᵀ(∇s)v leaves one more term to chance than ½‖s‖² + vᵀ(∇s)v, but the two
can cancel. With Gaussian v, vᵀAv has variance 2‖A‖²: the forms compare ½ssᵀ + ∇s with ∇s, and at the truth of a
standard normal in D dimensions that is D(D + 2)/4 against D. So there the plain form's variance is (D + 2)/4 times as
large: *smaller* in one dimension, the same in two. The source says «in practice, regularly», without number or setting.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Generator, Tensor, nn

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.config.sections import Training
from ebmbench.core.energy import Energy
from ebmbench.core.streams import draws
from ebmbench.data import digits, two_moons
from ebmbench.methods import ssm
from ebmbench.methods.common.score_matching import Distribution, draw_directions
from ebmbench.models import mlp
from ebmbench.report.figures.theme import FAINT, INK, PALETTE, colour, plain_ticks

PAPER = "Xu (2022), section 2.2.3.2; Song, Garg, Shi & Ermon (2019)"
YEAR = 2019
LINK = ("https://arxiv.org/abs/2211.02650", "https://arxiv.org/abs/1905.07088")

# Ratios are logarithms. The source gives no size; a tenth more is asked for, and power told for twice as much.
CLAIM = Claim(
    sentence="Sliced score matching is implicit score matching on average over directions, hence consistent, and its "
    "variance is regularly higher than that of Hutchinson's estimator, which leaves the squared score whole.",
    here="The benchmark's ssm in both forms with the same directions of signs. Consistency: the exact minimum for a "
    "Gaussian's precisions in four dimensions, 100 to 10000 events. Variance: of the parameter gradient over "
    "directions, at networks trained on two_moons and on digits.",
    seeds=6,
    arms=("estimate", "two_moons", "digits"),
    criteria=(
        Criterion(
            "gap", "relative gap of the loss over all directions to implicit score matching", "below", 1e-10, exact=True
        ),
        Criterion("rate", "slope of the estimate's log error against log n", "below", -0.4, expected=-0.5),
        Criterion(
            "plane", "variances, plain over reduced, two_moons", "above", math.log(1.1), math.log(2), logarithm="ratio"
        ),
        Criterion(
            "images", "variances, plain over reduced, digits", "above", math.log(1.1), math.log(2), logarithm="ratio"
        ),
    ),
    caption="Left: error of a Gaussian's precisions against the number of events. Middle: variance of the gradient "
    "over directions, plain over reduced, at trained and at random networks; right of 1 the plain form has more. "
    "Right: the same for the loss at the truth of a standard normal with Gaussian directions, against the dimension; "
    "dots are (D + 2)/4.",
    pilots="Eight seeds took too long, five had too little power; the bounds never changed.",
)

EVENTS, SAMPLES, PRECISIONS = (100, 300, 1000, 3000, 10_000), 40, (0.5, 1.0, 2.0, 4.0)
DIMENSIONS, DRAWS = (1, 2, 4, 8, 16, 32, 64), 30
KINDS: tuple[Distribution, ...] = ("rademacher", "gaussian")
TOY = (mlp.Settings(), Training(budget=1_500_000, ema=0.99), ssm.Settings(), 256)
IMAGES = (
    mlp.Settings(width=256, layers=2, gain=1.4, bias=0.1),
    Training(budget=500_000, ema=0.99, batch_size=64, beta1=0.0, data_noise=0.03),
    ssm.Settings(learning_rate=1e-3, sigma=0.3),
    64,
)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """Errors by number of events and ratios by dimension; or the ratios at networks, trained and random, by kind."""
    draw = draws(seed, "claim", "ssm_consistent_with_larger_variance", arm)
    if arm == "estimate":
        errors = [_error(count, draw(f"events {count}")) for count in EVENTS]
        return {"error": errors, "ratio": [_normal_ratio(d, draw(f"dimension {d}")) for d in DIMENSIONS]}
    data = bench.data(two_moons, train=20_000, test=10) if arm == "two_moons" else bench.data(digits)
    model, training, settings, batch = TOY if arm == "two_moons" else IMAGES
    trained = bench.train(ssm, settings, data, model, training, seed).trained.network.requires_grad_(True)
    fresh = mlp.Model(model, data.facts).initialise(draw("weights"))
    x = data.train[torch.randperm(len(data.train), generator=draw("batch"))[:batch]]
    x = (x + settings.sigma * torch.randn(x.shape, generator=draw("noise"))).double()
    networks = [trained.double(), fresh.double()]
    gap = max(_gap(network, x) for network in networks) if arm == "two_moons" else 0.0
    return {"gap": gap, "ratio": [[_ratio(network, x, kind, draw(kind)) for kind in KINDS] for network in networks]}


def _ratio(network: nn.Module, x: Tensor, kind: Distribution, generator: Generator) -> float:
    """The gradient's variance over directions, summed over parameters, of the plain form over the reduced."""
    rows: list[list[Tensor]] = [[], []]
    for _ in range(DRAWS):
        v = draw_directions(kind, (1, *x.shape), generator).to(x)
        for form, reduced in zip(rows, (False, True), strict=True):
            loss = ssm.sliced_score_matching(network, x, v, reduced)
            parts = torch.autograd.grad(loss, list(network.parameters()), materialize_grads=True)
            form.append(torch.cat([part.flatten() for part in parts]))
    plain, less = (torch.stack(form).var(0).sum() for form in rows)
    return float(plain / less)


def _gap(energy: Energy, x: Tensor) -> float:
    """The loss over all four directions of signs against ½‖s‖² + tr ∇s with a whole Hessian."""
    slope = torch.func.grad(lambda u: energy(u[None])[0])
    trace = -torch.vmap(torch.func.jacrev(slope))(x).diagonal(dim1=1, dim2=2).sum(1)
    exact = (0.5 * torch.vmap(slope)(x).square().sum(1) + trace).mean()
    signs = torch.tensor([*itertools.product((-1.0, 1.0), repeat=2)], dtype=x.dtype)[:, None].expand(-1, *x.shape)
    return max(
        abs(float((ssm.sliced_score_matching(energy, x, signs, form) - exact).detach() / exact.detach()))
        for form in (False, True)
    )


def _error(count: int, generator: Generator) -> float:
    """Root mean squared relative error of precisions by the plain form, one direction for each of `count` events."""
    wanted = torch.tensor(PRECISIONS, dtype=torch.float64)
    shape = (SAMPLES, count, len(wanted))
    x = torch.randn(shape, generator=generator, dtype=torch.float64) / wanted.sqrt()
    v = draw_directions("rademacher", shape, generator).to(x)
    return float((estimates(x, v) / wanted - 1).square().mean().sqrt())


def estimates(x: Tensor, directions: Tensor) -> Tensor:
    """The minimum of ssm's plain objective over E(x) = ½Σθᵢxᵢ² for each sample `(S, N, D)`: `(S, D)`.

    It is quadratic in θ: one Newton step from 0, for each sample alone.
    """

    def loss(theta: Tensor, x: Tensor, v: Tensor) -> Tensor:
        return ssm.sliced_score_matching(lambda u: 0.5 * (theta * u.square()).sum(1), x, v[None], False)

    found = []
    for sample, v in zip(x, directions, strict=True):
        theta = sample.new_zeros(sample.shape[1], requires_grad=True)
        (slope,) = torch.autograd.grad(loss(theta, sample, v), theta, create_graph=True)
        rows = [torch.autograd.grad(one, theta, retain_graph=True)[0] for one in slope]
        found.append(-torch.linalg.solve(torch.stack(rows), slope.detach()))
    return torch.stack(found)


def _normal_ratio(d: int, generator: Generator) -> float:
    """The loss's variance over Gaussian directions at E = ½‖x‖² for x ~ N(0, I), plain over reduced."""
    x = torch.randn(256, d, generator=generator, dtype=torch.float64)
    losses = []
    for _ in range(8 * DRAWS):
        v = draw_directions("gaussian", (1, *x.shape), generator).to(x)
        losses.append([ssm.sliced_score_matching(_half_square, x, v, form).item() for form in (False, True)])
    plain, less = np.var(losses, axis=0)
    return float(plain / less)


def _half_square(x: Tensor) -> Tensor:
    return 0.5 * x.square().sum(1)


def statistics(arms: Arms) -> dict[str, float]:
    """The gap, the rate, and the ratios at trained networks with directions of signs."""
    rate = np.polyfit(np.log(EVENTS), np.log(arms["estimate"]["error"]), 1)[0]
    plane, images = (math.log(arms[name]["ratio"][0, 0]) for name in ("two_moons", "digits"))
    return {"gap": float(arms["two_moons"]["gap"]), "rate": float(rate), "plane": plane, "images": images}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Errors, ratios at networks, ratios by dimension."""
    left, middle, right = figure.subplots(1, 3)
    errors = stacked(seeds, "estimate", "error")
    for row in errors:
        left.loglog(EVENTS, row, ".-", color=colour("ssm"), linewidth=0.8)
    left.loglog(EVENTS, errors[:, 0].mean() * np.sqrt(EVENTS[0] / np.array(EVENTS)), ":", color=INK, zorder=3)
    left.set(xlabel="events", ylabel="relative error of the precisions")
    plain_ticks(left.yaxis, *left.get_ylim())
    _ratios(middle, seeds)
    by_dimension = stacked(seeds, "estimate", "ratio")
    for row in by_dimension:
        right.loglog(DIMENSIONS, row, ".-", color=colour("ssm"), linewidth=0.8)
    right.loglog(DIMENSIONS, (np.array(DIMENSIONS) + 2) / 4, ":", color=INK, zorder=3)
    right.axhline(1, color=FAINT, linewidth=1)
    right.set(xlabel="dimension D", ylabel="plain over reduced, loss")
    plain_ticks(right.xaxis, *right.get_xlim())
    plain_ticks(right.yaxis, *right.get_ylim())


def _ratios(axes: Axes, seeds: Sequence[Arms]) -> None:
    names = [f"{arm}, {state}" for arm in ("two_moons", "digits") for state in ("trained", "random")]
    found = np.concatenate([stacked(seeds, arm, "ratio") for arm in ("two_moons", "digits")], 1)
    for k, kind in enumerate(KINDS):
        for i, row in enumerate(found[:, :, k]):
            axes.semilogx(row, np.arange(4) + 0.2 * k, ".", color=PALETTE[k], label=None if i else kind)
    axes.axvline(1, color=FAINT, linewidth=1)
    axes.set(yticks=np.arange(4) + 0.1, yticklabels=names, xlabel="plain over reduced, gradient")
    axes.invert_yaxis()
    plain_ticks(axes.xaxis, *axes.get_xlim())
    axes.legend()

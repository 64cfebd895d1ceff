"""Conditional NCE: with too little or too much noise its gradients vanish and it learns nothing

With y = x + σε, L(σ) = 2 mean softplus(E(x) − E(y)). For small σ it is 2 log 2 + ½σ² × score matching's loss, so its
gradient falls like σ². For large σ, y lies far out where a confining energy is high and softplus flat; only the share
of y that falls among the data by chance, of order σ^(−D), teaches anything. In the plane both laws have exponent 2:
two decades away from the best σ, about one data deviation, 10⁻⁴ of the gradient is left.

The source does not say at which weights. Large σ needs an energy that rises away from the data, which an untrained
network's does only far out, so the rule is about weights after twenty steps; the initial ones are shown beside them.
At the optimum the gradient is zero whatever σ.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import nn

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.exact_kl import divergence
from ebmbench.config.sections import Training
from ebmbench.core.streams import stream
from ebmbench.data import eight_gaussians
from ebmbench.experiment.data import Data
from ebmbench.methods import cnce
from ebmbench.metrics.common.quadrature import integrate
from ebmbench.models import mlp
from ebmbench.report.figures.theme import FAINT, INK, colour

PAPER = "Xu (2022), section 3.1; of Ceylan & Gutmann (2018)"
YEAR = 2022
LINK = ("https://arxiv.org/abs/2211.02650", "https://proceedings.mlr.press/v80/ceylan18a.html")

SIGMAS = 10 ** np.linspace(-2, 2, 9)  # in data deviations
LOW, BEST, HIGH = "0.01", "1", "100"
PAIRS, STEPS, BATCH, BUDGET = 10_000, 20, 256, 500_000

CLAIM = Claim(
    sentence="When σ is too large or too small the gradients of conditional NCE vanish, and it learns nothing of use.",
    here="eight_gaussians, σ from 0.01 to 100 data deviations. The norm of the mean gradient of the benchmark's cnce "
    "over 10 000 data with two opposite noises each, after twenty steps with σ = 1 (vanishing: below a hundredth of "
    "the largest); then KL(data‖model) after 500 000 passes, against that of a Gaussian with the data's moments "
    "(nothing of use: more than half of it). The source names neither weights nor σ. At the initial weights, shown "
    "too, the gradient need not vanish for large σ: an untrained network does not yet tell far from near.",
    seeds=10,
    arms=("gradient", LOW, BEST, HIGH),
    criteria=(
        Criterion("low", f"largest gradient / gradient at σ = {LOW}", "above", 4.605, expected=9.21, logarithm="ratio"),
        Criterion(
            "high", f"largest gradient / gradient at σ = {HIGH}", "above", 4.605, expected=9.21, logarithm="ratio"
        ),
        Criterion(
            "kl_low", f"KL / Gaussian's KL, trained with σ = {LOW}", "above", -0.693, expected=0.693, logarithm="ratio"
        ),
        Criterion(
            "kl_high",
            f"KL / Gaussian's KL, trained with σ = {HIGH}",
            "above",
            -0.693,
            expected=0.693,
            logarithm="ratio",
        ),
        Criterion(
            "kl_best",
            f"the same, trained with σ = {BEST}: a control",
            "below",
            -2.303,
            expected=-3.912,
            logarithm="ratio",
        ),
    ),
    caption="Left: norm of the expected gradient of conditional NCE by σ, a line per seed, with the laws σ² and σ⁻² "
    "dotted. Right: KL(data‖model) after training, a dot per seed; the line is a Gaussian with the data's moments.",
    pilots="At the initial weights the large end was undecided, so the rule is about weights after twenty steps; "
    "at 100 000 passes the falls were just about the bound. σ = 1 as the best was seen in pilots.",
)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """Gradient norms at both weights for every σ, or the KL of a model trained with one σ."""
    data = bench.data(eight_gaussians, train=20_000, test=10)
    if arm == "gradient":
        return {when: norms(network, data, seed) for when, network in _networks(bench, data, seed).items()}
    training = Training(budget=BUDGET, batch_size=BATCH)
    run = bench.train(cnce, cnce.Settings(sigma=float(arm)), data, mlp.Settings(), training, seed)
    return {"kl": divergence(run.trained.double().network, data), "gaussian": _of_gaussian(data)}


def _networks(bench: Bench, data: Data, seed: int) -> dict[str, nn.Module]:
    initial = mlp.Model(mlp.Settings(), data.facts).initialise(stream(seed, "claim", "weights")).double()
    passes = 4 * STEPS * BATCH  # a datum and its copy, there and back
    training = Training(budget=passes, batch_size=BATCH, ema=0.0)
    begun = bench.train(cnce, cnce.Settings(), data, mlp.Settings(), training, seed).trained.double().network
    return {"initial": initial, "begun": begun.requires_grad_(True)}


def norms(network: nn.Module, data: Data, seed: int) -> list[float]:
    """‖∇θ L‖ for each σ; opposite noises cancel the part of order σ, which has mean zero."""
    x, weights, found = data.train[:PAIRS].double(), list(network.parameters()), []
    for i, sigma in enumerate(SIGMAS * data.facts.unit):
        noise = torch.randn(x.shape, generator=stream(seed, "claim", "noise", i), dtype=x.dtype)
        loss = cnce.conditional_noise_contrastive(network, x, torch.cat([noise, -noise]), float(sigma))
        parts = torch.autograd.grad(loss, weights)
        found.append(float(torch.cat([part.flatten() for part in parts]).norm()))
    return found


def _of_gaussian(data: Data) -> float:
    """KL(data‖N(m, S)) with the data's own moments: the difference of the entropies."""
    density = data.density
    assert density is not None
    grid = integrate(lambda x: -density.log_prob(x), data.facts, cells=256)
    entropy = -grid.integral(grid.log_q.exp() * grid.log_q)
    moments = torch.tensor(data.facts.covariance, dtype=torch.float64)
    return float(0.5 * torch.logdet(2 * math.pi * math.e * moments)) - entropy


def statistics(arms: Arms) -> dict[str, float]:
    """Falls from the peak to both ends, and KLs over the Gaussian's, all logarithms."""
    gradients = arms["gradient"]["begun"]
    falls = {end: float(np.log(gradients.max() / gradients[i])) for end, i in [("low", 0), ("high", -1)]}
    trained = {"kl_low": LOW, "kl_best": BEST, "kl_high": HIGH}
    return falls | {key: float(np.log(arms[arm]["kl"] / arms[arm]["gaussian"])) for key, arm in trained.items()}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Gradients by σ, then KLs."""
    left, right = figure.subplots(1, 2, width_ratios=[1.6, 1])
    for when, shade, label in [("initial", FAINT, "initial weights"), ("begun", colour("cnce"), "after twenty steps")]:
        for i, line in enumerate(stacked(seeds, "gradient", when)):
            left.loglog(SIGMAS, line, color=shade, linewidth=0.8, alpha=0.8, label=label if i == 0 else None)
    peak = float(stacked(seeds, "gradient", "begun").max())
    for power, where in [(2, SIGMAS[:5]), (-2, SIGMAS[4:])]:
        left.loglog(where, 3 * peak * where**power, ":", color=INK, linewidth=1)
    left.set(xlabel="σ in data deviations", ylabel="norm of the expected gradient")
    left.legend()
    values: list[NDArray[Any]] = [stacked(seeds, arm, "kl") for arm in (LOW, BEST, HIGH)]
    for place, kls in enumerate(values):
        right.semilogy(np.full(len(kls), place) + np.linspace(-0.15, 0.15, len(kls)), kls, "o", color=colour("cnce"))
    right.axhline(float(seeds[0][LOW]["gaussian"]), color=INK, linewidth=0.8)
    right.set(xlabel="σ in data deviations", ylabel="KL(data‖model), nats", xlim=(-0.5, 2.5))
    right.set_xticks(range(3), [LOW, BEST, HIGH])

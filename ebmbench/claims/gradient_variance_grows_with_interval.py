"""The older AdaNCE's frozen copy, the larger the variance of its gradient, through the density ratio.

The gradient of AdaNCE is a mean over data and over noise, each event weighted by a function of g = exp(E_m − E):

    ∇L = mean (1 − σ(log g(x⁺))) ∇E(x⁺) − mean σ(log g(x⁻)) ∇E(x⁻),   x⁻ ~ p_m,

and Xu reasons that where g varies, so does the estimator: at 𝒦 = 1 it is constant, with a larger 𝒦 its variance grows,
until the gradient can no longer be estimated. The weights lie between 0 and 1 however, and are ½ at 𝒦 = 1: what E has
already learned to tell apart is weighted down, so the variance may as well fall.

Measured is the last step before a renewal, where the copy is 𝒦 − 1 steps old: over many batches, the trace of the
covariance of ∇L, as it is and over ‖mean ∇L‖². It is set beside that of the *same* model with a copy of age zero (which
is maximum likelihood), so that only the age differs. Negatives are training chains that the copy has moved, as ever.
"""

import copy
from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Generator, Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.digits_protocol import MODEL, SAMPLER, open_digits, protocol
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, normal, stream
from ebmbench.core.torch_compat import Adam
from ebmbench.experiment.data import Data
from ebmbench.methods import adance
from ebmbench.models import mlp
from ebmbench.report.figures.theme import FAINT, INK, colour, plain_ticks
from ebmbench.samplers.common.buffer import Buffer
from ebmbench.samplers.common.chain import Chain

PAPER = "Xu (2022), section 5.3, second explanation"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"
NAME = "gradient_variance_grows_with_interval"

INTERVALS = (1, 5, 10, 20, 50)
TENTH = float(np.log(1.1))
WALK = float(np.log(49 / 4))  # if log g walks at random, its variance grows like the age of the copy

CLAIM = Claim(
    sentence="With the interval 𝒦 the variance of the density ratio grows, and with it the variance of AdaNCE's "
    "gradient, so that it can no longer be estimated accurately.",
    here="adance on digits with the benchmark's settings: 150 steps with 𝒦 = 1, then one interval of 50. The model "
    "before the renewal that 𝒦 = 1, 5, 10, 20, 50 would bring is compared with itself under a fresh copy, over 200 "
    "batches of 64 images and 64 of 2000 chains. The source argues, and measures no variance.",
    seeds=6,
    criteria=(
        Criterion(
            "ratio",
            "Var g/(mean g)² on noise, 𝒦 = 50 over 𝒦 = 5",
            "above",
            float(np.log(2)),
            expected=WALK,
            logarithm="ratio",
        ),
        Criterion(
            "variance",
            "tr Cov ∇L, 𝒦 = 50 over a fresh copy",
            "above",
            TENTH,
            expected=float(np.log(1.5)),
            logarithm="ratio",
        ),
        Criterion(
            "relative", "tr Cov ∇L/‖mean ∇L‖², likewise", "above", TENTH, expected=float(np.log(1.5)), logarithm="ratio"
        ),
    ),
    caption="Left: variance of the density ratio g by 𝒦. Middle: variance of the gradient of a batch with a copy "
    "that is 𝒦 − 1 steps old, over that with a fresh one. Right: the same relative to the squared mean gradient. "
    "Thin lines are seeds; 1, dotted, is maximum likelihood at the same model.",
    pilots="First on eight_gaussians with exact draws, where the ratio's variance levels off and nothing was decided "
    "(the gradient's variance rose by 7 %); then on digits with the same bounds. What is found is about images "
    "with short chains.",
)

WARM, BATCHES = 150, 200
TRAINING = protocol(1)  # the budget is not used


def measure(arm: str, seed: int, bench: Bench) -> dict[str, list[float]]:
    """Variance of the gradient, squared mean gradient and variance of g by 𝒦, with an old copy and a fresh one."""
    data = open_digits(bench)
    models, buffer = aged(data, seed)
    old = moved(buffer, models[0], data, seed)
    found: dict[str, list[float]] = {}
    for model in models:
        row = {"ratio": ratio_variance(model, models[0], old)}
        row["variance"], row["signal"] = spread(gradients(model, models[0], data, old, seed))
        own = moved(buffer, model, data, seed)
        row["fresh_variance"], row["fresh_signal"] = spread(gradients(model, model, data, own, seed))
        for key, value in row.items():
            found.setdefault(key, []).append(value)
    return found


def aged(data: Data, seed: int) -> tuple[list[mlp.Model], Buffer]:
    """The model at the last step before the renewal of each 𝒦, 𝒦 − 1 steps after the copy, and chains before it.

    The first model is the copy itself.
    """
    network = mlp.Model(MODEL, data.facts).initialise(stream(seed, "claim", NAME, "weights"))
    settings = adance.Settings(learning_rate=5e-4, sampler=SAMPLER, interval=1, temperature=1.0, rejuvenation=0.05)
    method = adance.Method(settings, data.facts).initialise(draws(seed, "claim", NAME, "start"), network)
    optimiser = Adam(network.parameters(), lr=settings.learning_rate, betas=(TRAINING.beta1, 0.999))
    kept, buffer = [], method.buffer
    for step in range(WARM + max(INTERVALS)):
        if step == WARM:  # the copy is renewed here, and not again
            method.settings = settings.model_copy(update={"interval": max(INTERVALS)})
            method.taken.zero_()
            buffer = copy.deepcopy(method.buffer)
        if step - WARM + 1 in INTERVALS:
            kept.append(copy.deepcopy(network))
        optimiser.zero_grad()
        x = batch(data, stream(seed, "claim", NAME, "batch", step))
        method(Meter(network), x, draws(seed, "claim", NAME, step)).backward()
        optimiser.step()
    return kept, buffer


def batch(data: Data, generator: Generator) -> Tensor:
    """Images as training draws them."""
    x = data.train[torch.randint(len(data.train), (TRAINING.batch_size,), generator=generator)]
    return x + TRAINING.data_noise * normal(x, generator)


def moved(buffer: Buffer, model: mlp.Model, data: Data, seed: int) -> Tensor:
    """All chains of the buffer, moved once by a model."""

    def move(starts: Tensor) -> Chain:
        return SAMPLER.run(model, starts, stream(seed, "claim", NAME, "chain"))

    fresh = data.facts.starts(len(buffer.chains), stream(seed, "claim", NAME, "restart"))
    return copy.deepcopy(buffer).advance(move, fresh, 0.05, draws(seed, "claim", NAME, "moved")).x


def gradients(model: mlp.Model, frozen: mlp.Model, data: Data, noise: Tensor, seed: int) -> Tensor:
    """∇L of the benchmark's adance for each of many batches, `(batches, parameters)`."""
    parameters, rows = [*model.parameters()], []
    for i in range(BATCHES):
        generator = stream(seed, "claim", NAME, "variance", i)
        x = batch(data, generator)
        negatives = noise[torch.randint(len(noise), (len(x),), generator=generator)]
        loss, _ = adance.adaptive_contrast(model, frozen, x, negatives)
        rows.append(torch.cat([one.flatten() for one in torch.autograd.grad(loss, parameters)]))
    return torch.stack(rows)


def spread(rows: Tensor) -> tuple[float, float]:
    """The trace of the covariance of rows, and the squared norm of their mean, less what the noise adds to it."""
    trace = float(rows.var(0).double().sum())
    return trace, float(rows.mean(0).double().square().sum()) - trace / len(rows)


@torch.no_grad()
def ratio_variance(model: mlp.Model, frozen: mlp.Model, noise: Tensor) -> float:
    """Var g/(mean g)² under the copy's density: free of the constant in g."""
    g = (frozen(noise) - model(noise)).double().exp()
    return float(g.var() / g.mean() ** 2)


def statistics(arms: Arms) -> dict[str, float]:
    """Logarithms of ratios, at 𝒦 = 50."""
    m = arms["all"]
    variance = np.log(m["variance"] / m["fresh_variance"])
    signal = np.log(m["signal"] / m["fresh_signal"])
    return {
        "ratio": float(np.log(m["ratio"][-1] / m["ratio"][1])),
        "variance": float(variance[-1]),
        "relative": float((variance - signal)[-1]),
    }


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Three panels by 𝒦."""
    ratio, *rest = (
        stacked(seeds, "all", key) for key in ("ratio", "variance", "signal", "fresh_variance", "fresh_signal")
    )
    variance, signal, fresh, fresh_signal = rest
    absolute = "variance of the gradient,\nold copy over fresh"
    panels = {
        "variance of g over its squared mean": np.where(ratio > 0, ratio, np.nan),
        absolute: variance / fresh,
        "relative variance of the gradient,\nold copy over fresh": variance / fresh / (signal / fresh_signal),
    }
    for axes, (label, values) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        axes.plot(INTERVALS, values.T, color=colour("adance"), alpha=0.25, linewidth=0.8)
        axes.plot(INTERVALS, np.exp(np.log(values).mean(0)), "o-", color=colour("adance"))
        axes.set(xscale="log", yscale="linear" if values is panels[absolute] else "log")
        axes.set(xlabel="interval $\\mathcal{K}$", ylabel=label)
        axes.set_xticks(INTERVALS, [str(k) for k in INTERVALS])
        axes.set_xticks([], minor=True)
        if axes.get_yscale() == "log":
            plain_ticks(axes.yaxis, *axes.get_ylim())
    for axes in figure.axes[1:]:
        axes.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    figure.axes[0].annotate("0 at 1", (0.04, 0.04), xycoords="axes fraction", color=FAINT)

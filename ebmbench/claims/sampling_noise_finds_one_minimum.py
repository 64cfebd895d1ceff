"""With more noise in the sampler all chains end at the same digit

Langevin with step η and noise τ, x ← x − ½η∇E(x) + τε, samples exp(−E/T) at the temperature T = τ²/η. Image energies
are trained with a tiny τ, whose chains end in the nearest minimum. A larger τ climbs out of shallow minima and stays in
deep ones. If the landscape had learned the data, deep minima would show all digits alike; the source finds a funnel,
every chain at one digit. The temperature at which that happens is not known beforehand: τ rises until it does.
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
from ebmbench.claims.testing.digits_protocol import MLE, MODEL, SAMPLER, open_digits, protocol
from ebmbench.core.streams import stream
from ebmbench.methods import mle
from ebmbench.report.figures.theme import INK, colour

PAPER = "Gagnon & Lajoie, section 6.2.1, figure 4"
YEAR = 2022
LINK = "https://arxiv.org/abs/2202.12176"

CLAIM = Claim(
    sentence="Chains that are sampled with more noise than in training end in deeper minima, and with enough noise "
    "all of them at the same digit, or at few, wherever they started.",
    here="mle on digits, an MLP in place of a ConvNet. Half of 100 chains start at uniform noise, half at held-out "
    "images; 5000 steps (the source: 10 000) at six noise levels from training's on, then 300 steps without noise to "
    "the nearest minimum, whose digit a classifier tells. Of the levels the one with the deepest minima counts for "
    "depth, and the one with the fewest digits is what the source calls enough noise.",
    seeds=16,
    criteria=(
        Criterion(
            "deeper",
            "least mean energy of minima, less that at training's noise, in their deviations",
            "below",
            -0.2,
            -0.8,
        ),
        Criterion(
            "few",
            "effective number of digits with enough noise",
            "below",
            math.log(3),
            math.log(1.5),
            logarithm="number",
        ),
        Criterion("control", "the same with training's noise", "above", math.log(5), math.log(9), logarithm="number"),
    ),
    caption="Left: effective number of digits at the minima where chains end, by noise, a line per seed; dotted, the "
    "bounds. Middle: the mean energy of these minima, less that at training's noise, in deviations of the latter. "
    "Right: minima of the first seed, a row per noise level; the left half's chains began at noise, the right's at "
    "images.",
    pilots="With 2000 steps 6.2 digits were left at best, with 5000 fewer: part of the distance to the source may be "
    "the length of chains. How depth is measured, and the noise levels, were changed by pilots. Twice nine seeds left "
    "the number of digits undecided, once by little: these are sixteen new ones.",
)

NAME = "sampling_noise_finds_one_minimum"
NOISE = (0.01, 0.08, 0.1, 0.12, 0.14, 0.2)  # τ; training has the first
CHAINS, STEPS, DESCENT, SHOWN = 100, 5000, 300, 8


def measure(arm: str, seed: int, bench: Bench) -> dict[str, NDArray[np.float64]]:
    """For each noise level the digits and energies of the minima, and some of them."""
    data = open_digits(bench)
    energy = bench.train(mle, MLE, data, MODEL, protocol(), seed).trained.judged
    noise = data.facts.starts(CHAINS // 2, stream(seed, "claim", NAME, "noise"))
    picked = torch.randperm(len(data.test), generator=stream(seed, "claim", NAME, "images"))[: CHAINS // 2]
    starts = torch.cat([noise, data.test[picked]])
    ends = [minima(energy, starts, tau, seed) for tau in NOISE]
    shown = torch.cat([torch.arange(SHOWN), CHAINS // 2 + torch.arange(SHOWN)])
    return {
        "digits": np.stack([bench.classifier(data).classify(x).numpy() for x in ends]),
        "energies": np.stack([energy(x).numpy() for x in ends]),
        "minima": np.stack([x[shown, 0].numpy() for x in ends]),
    }


def minima(energy: torch.nn.Module, starts: Tensor, tau: float, seed: int) -> Tensor:
    """Where chains with noise τ end once the noise is turned off."""
    noisy = SAMPLER.model_copy(update={"steps": STEPS, "noise_std": tau})
    still = SAMPLER.model_copy(update={"steps": DESCENT, "noise_std": 0.0})
    x = noisy.run(energy, starts, stream(seed, "claim", NAME, "chain", str(tau))).x
    return still.run(energy, x, stream(seed, "claim", NAME, "descent")).x


def effective(digits: NDArray[np.int64]) -> float:
    """exp of the entropy of labels: 10 if all digits are alike, 1 if there is but one."""
    shares = np.bincount(digits, minlength=10) / len(digits)
    return math.exp(-sum(share * math.log(share) for share in shares.tolist() if share))


def depths(energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean energy of minima at each noise level, from training's on and in the deviation of those of training's."""
    found: NDArray[np.float64] = (energies.mean(1) - energies[0].mean()) / energies[0].std()
    return found


def statistics(arms: Arms) -> dict[str, float]:
    """Training's noise, which comes first, against the others."""
    logs = [math.log(effective(row)) for row in arms["all"]["digits"]]
    return {"deeper": float(depths(arms["all"]["energies"])[1:].min()), "few": min(logs[1:]), "control": logs[0]}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Digits and depths by noise, and minima."""
    figure.set_size_inches(10, 3.8)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.3, 1])[0]
    axes = left.subplots(1, 2)
    for row, energies in zip(stacked(seeds, "all", "digits"), stacked(seeds, "all", "energies"), strict=True):
        axes[0].plot(NOISE, [effective(found) for found in row], ".-", color=colour("mle"), alpha=0.7)
        axes[1].plot(NOISE, depths(energies), ".-", color=colour("mle"), alpha=0.7)
    deeper, few, control = (criterion.bound for criterion in CLAIM.criteria)
    for axis, bound in [(axes[0], math.exp(few)), (axes[0], math.exp(control)), (axes[1], deeper)]:
        axis.axhline(bound, color=INK, linewidth=0.8, linestyle=":")
        axis.set(xlabel="noise τ of the sampler")
    axes[0].set(ylabel="effective number of digits", ylim=(0, 10.3))
    axes[1].set(ylabel="depth of the minima")
    for axis, tau, rows in zip(right.subplots(len(NOISE), 1), NOISE, seeds[0]["all"]["minima"], strict=True):
        axis.imshow(np.hstack(rows), cmap="gray", vmin=-1, vmax=1)
        axis.set(xticks=[], yticks=[])
        axis.set_ylabel(f"τ = {tau:g}", rotation=0, ha="right", va="center", fontsize=8)

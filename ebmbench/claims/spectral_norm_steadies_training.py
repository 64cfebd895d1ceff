"""Without spectral normalisation the slope along sampling paths grows until training collapses; with it, it is steady.

Xu follows v, the norm of ∇E averaged over the steps of the Langevin chains of training (from x₀ to x_{K−1}) and over
chains:

    v = mean over chains of (1/K) Σ_ℓ ‖∇E(x_ℓ)‖.

Without normalisation it grows whatever the rejuvenation, until it jumps to infinity and the sampler fails; with all
layers normalised it settles at a constant. Chains are not kept in a box, of which the source says nothing: it would
stop them from running away. The learning rate is ten times the source's, for there are few steps, and like the
source's it does not fall: where it falls to zero, as elsewhere in the benchmark, v stops growing with it; at 3e-3 v
leaps about instead of growing.

«Settled» and «growing» are told by v in the last tenth of a run (as far as it came) over v in its third tenth, when the
start is over.
"""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.digits_protocol import CHAINS, enlarged, open_digits, reduced
from ebmbench.config.sections import Training
from ebmbench.core.streams import stream
from ebmbench.experiment.data import Data
from ebmbench.methods import mle
from ebmbench.models import convnet
from ebmbench.report.figures.theme import FAINT, PALETTE
from ebmbench.samplers import langevin
from ebmbench.training.job import Job
from ebmbench.training.trainer import Diverged, Trainer

PAPER = "Xu (2022), section 3.2.2, figures 3.2 and 3.3"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"

CLAIM = Claim(
    sentence="Without spectral normalisation the mean slope v along Langevin paths grows until training collapses; "
    "with it v stays about constant and training goes on.",
    here="mle (AdaNCE with 𝒦 = 1) on digits enlarged to 32×32, ConvNet B with a sixteenth of its channels, 600 "
    "steps; the source's sampler (step size 1, noise 0.005, no box) with 20 in place of 100 steps, its rejuvenation "
    "of 50 %, Adam at 1e-3. Collapsed is a run that diverged, or whose chains end with a worse FID than noise has.",
    seeds=16,
    arms=("plain", "normalised"),
    criteria=(
        Criterion(
            "growth",
            "without: v at the end over v early",
            "above",
            math.log(2),
            expected=math.log(10),
            logarithm="ratio",
        ),
        Criterion(
            "steady",
            "with: the same, or its reverse if that is larger",
            "below",
            math.log(1.5),
            expected=math.log(1.1),
            logarithm="ratio",
        ),
        Criterion("collapse", "without: share of runs that collapse", "above", 0.5, expected=1.0, share=True),
        Criterion("survival", "with: share of runs that collapse", "below", 0.5, expected=0.0, share=True),
    ),
    caption="v along the training chains by training step, a line per seed; × is where a run was given up as diverged.",
    pilots="Six designs were tried with one to five seeds; the rule stayed, rate, length and box did not. With chains "
    "kept in a box nothing collapsed; without, 1 of 2 runs at 1e-3 and 3 of 5 at 2e-3 where the rate falls to "
    "zero, 1 of 5 at a constant 3e-3, and 4 of 5 in the design that was kept. Twice eight seeds left it undecided: "
    "these are sixteen new ones.",
)

FACTOR, WIDTH = 4, 1 / 16
STEPS, RATE, BATCH = 600, 1e-3, 16
BUDGET, ROWS = 4_200_000, 1000  # a tenth of it is spent, in which the rate falls by 3 %; a row for six steps
SAMPLER = langevin.Settings(steps=20, step_size=1.0, noise_std=0.005)
MOST = 1e9  # norm of a parameter gradient: it is not clipped


def measure(arm: str, seed: int, bench: Bench) -> dict[str, NDArray[np.float64] | float]:
    """v by step, how the run ended, and FID of its chains beside that of the noise that chains start from."""
    small = open_digits(bench)
    data = enlarged(small, FACTOR)
    trainer = Trainer(_job(arm, seed, data), data.train)
    diverged = ended_early(trainer)
    chains = trainer.method.get_buffer("buffer.chains")
    noise = data.facts.starts(CHAINS, stream(seed, "claim", "spectral_norm_steadies_training", "noise"))
    fid, of_noise = (bench.fidelity(small, reduced(x, FACTOR))["fid"] for x in (chains[:CHAINS], noise))
    found = {name: np.array(trainer.history[name]) for name in ("step", "chain_gradient_norm")}
    return {**found, "diverged": float(diverged), "fid": fid, "noise_fid": of_noise}


def _job(arm: str, seed: int, data: Data) -> Job:
    settings = mle.Settings(model="convnet", learning_rate=RATE, sampler=SAMPLER, buffer=1000, rejuvenation=0.5)
    model = convnet.Settings(variant="B", width=WIDTH, normalised=arm == "normalised")
    training = Training(budget=BUDGET, batch_size=BATCH, beta1=0.0, clip=MOST, rows=ROWS)
    return Job("mle", settings, {}, seed, training, model, data.facts)


def ended_early(trainer: Trainer) -> bool:
    """Train for `STEPS` steps; whether it was given up before."""
    try:
        while trainer.step < STEPS:
            trainer.advance()
    except Diverged:
        return True
    return False


def statistics(arms: Arms) -> dict[str, float]:
    """Growth and collapse of both networks."""
    plain, normalised = arms["plain"], arms["normalised"]
    ended = {name: float(arm["diverged"] > 0 or arm["fid"] > arm["noise_fid"]) for name, arm in arms.items()}
    return {
        "growth": growth(plain["chain_gradient_norm"]),
        "steady": abs(growth(normalised["chain_gradient_norm"])),
        "collapse": ended["plain"],
        "survival": ended["normalised"],
    }


def growth(v: NDArray[np.float64]) -> float:
    """log of v in the last tenth of a run's rows over v in the third tenth; of v itself, means of logarithms."""
    tenth = max(1, len(v) // 10)
    values = np.log(v)
    return float(values[-tenth:].mean() - values[2 * tenth : 3 * tenth].mean())


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Figures 3.2 and 3.3 side by side."""
    panels = figure.subplots(1, 2, sharey=True, sharex=True)
    for axes, arm, shade in zip(panels, ("plain", "normalised"), (PALETTE[1], PALETTE[5]), strict=True):
        for arms in seeds:
            step, v = arms[arm]["step"], arms[arm]["chain_gradient_norm"]
            axes.semilogy(step, v, color=shade, linewidth=0.9)
            if arms[arm]["diverged"]:
                axes.plot(step[-1], v[-1], "x", color=shade, markersize=7)
        axes.axhline(1, color=FAINT, linewidth=0.8, linestyle=":")
        axes.set(
            xlabel="training step", title={"plain": "without", "normalised": "with"}[arm] + " spectral normalisation"
        )
    panels[0].set(ylabel="mean slope v along chains")

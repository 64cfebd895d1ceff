"""The longer AdaNCE keeps its frozen copy, the worse its samples: FID grows with 𝒦, the inception score falls.

Xu trains on CIFAR-10 with 𝒦 = 1, 5, 10, 20, 50 and finds FID 148, 157, 165, 214, 311 and IS 4.03, 3.74, 3.57, 3.45,
2.61. Both are close to a power of 𝒦; by least squares over the logarithms

    log FID ≈ a + 0.18 log 𝒦,   log IS ≈ b − 0.10 log 𝒦,

and these two slopes are what is measured here, with one training of each 𝒦 at every seed. Samples are short runs from
noise, as in the source's figures 5.3 to 5.5; the training chains are kept beside them. A training that diverges is
judged too, by the last healthy state that the benchmark keeps of it: it is what there is of that model.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.digits_protocol import CHAINS, MODEL, SAMPLER, from_noise, open_digits, protocol
from ebmbench.methods import adance
from ebmbench.report.figures.theme import FAINT, INK, colour, plain_ticks

PAPER = "Xu (2022), table 5.2 and section 5.3"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"

INTERVALS = (1, 5, 10, 20, 50)
PUBLISHED = {"fid": (147.82, 157.17, 165.42, 214.12, 310.54), "inception_score": (4.03, 3.74, 3.57, 3.45, 2.61)}
BUDGET = 1_500_000  # network passes: half of what the benchmark spends on digits
SHORT = 100  # steps of a chain from noise

CLAIM = Claim(
    sentence="As the interval 𝒦 between two copies grows from 1 to 50, AdaNCE's FID grows and its inception score "
    "falls.",
    here="adance on digits (8×8) with a perceptron, settings of the benchmark, half its budget; FID and IS of 500 "
    "chains of 100 steps from noise, on features of a classifier of digits. The source trains ConvNet C on CIFAR-10 "
    "for two days and uses Inception. A run that diverged is judged by its last healthy state.",
    seeds=20,
    arms=tuple(map(str, INTERVALS)),
    criteria=(
        Criterion("fid", "slope of log FID against log 𝒦 (0.05: 22 % from 1 to 50)", "above", 0.05, expected=0.18),
        Criterion(
            "inception_score", "slope of log IS against log 𝒦 (−0.025: 9 % lost)", "below", -0.025, expected=-0.1
        ),
    ),
    caption="FID and inception score by 𝒦: a thin line per seed, the mean (of logarithms) in colour, training chains "
    "dashed; grey the source's table for CIFAR-10, multiplied so that it begins where the mean does.",
    pilots="The bounds were fixed knowing the benchmark's earlier report on the interval, in which the inception score "
    "is not monotone; hence slopes and not ranks. Twelve seeds reproduced it and twelve others left the inception "
    "score undecided: these are twenty new ones.",
)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, float]:
    """FID and IS of one training."""
    data = open_digits(bench)
    settings = adance.Settings(
        learning_rate=5e-4, sampler=SAMPLER, interval=int(arm), temperature=1.0, rejuvenation=0.05
    )
    run = bench.train(adance, settings, data, MODEL, protocol(BUDGET), seed)
    short = from_noise(run, data.facts, SAMPLER.model_copy(update={"steps": SHORT}), seed, "fid_grows_with_interval")
    assert run.trained.chains is not None
    of_chains = bench.fidelity(data, run.trained.chains[:CHAINS])
    of_chains = {f"chains_{name}": value for name, value in of_chains.items()}
    return {**bench.fidelity(data, short), **of_chains, "diverged": float(run.diverged)}


def statistics(arms: Arms) -> dict[str, float]:
    """The two slopes."""
    return {key: slope([float(arms[str(k)][key]) for k in INTERVALS]) for key in PUBLISHED}


def slope(values: Sequence[float]) -> float:
    """Least squares of log value against log 𝒦."""
    return float(np.polyfit(np.log(INTERVALS), np.log(values), 1)[0])


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """The two rows of table 5.2 as curves."""
    for axes, key in zip(figure.subplots(1, 2), PUBLISHED, strict=True):
        found, chains = (np.stack([stacked(seeds, str(k), name) for k in INTERVALS]) for name in (key, f"chains_{key}"))
        axes.plot(INTERVALS, found, color=colour("adance"), alpha=0.25, linewidth=0.8)
        axes.plot(INTERVALS, np.exp(np.log(found).mean(1)), "o-", color=colour("adance"), label="short runs from noise")
        axes.plot(INTERVALS, np.exp(np.log(chains).mean(1)), "s--", color=INK, markersize=4, label="training chains")
        published = np.array(PUBLISHED[key])
        scale = float(np.exp(np.log(found[0]).mean())) / published[0]
        axes.plot(INTERVALS, published * scale, ":", color=FAINT, label=f"source, CIFAR-10 (× {scale:.3g})")
        axes.set(xscale="log", yscale="log", xlabel="interval $\\mathcal{K}$")
        axes.set_ylabel({"fid": "FID", "inception_score": "inception score"}[key])
        axes.set_xticks(INTERVALS, [str(k) for k in INTERVALS], minor=False)
        axes.set_xticks([], minor=True)
        plain_ticks(axes.yaxis, *axes.get_ylim())
        axes.legend()

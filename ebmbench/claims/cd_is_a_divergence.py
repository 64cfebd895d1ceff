"""Contrastive divergence CD_t is never negative, zero only at the truth, and tends to KL

CD_t = KL(p₀‖p_θ) − KL(p_t‖p_θ), where p₀ is the data and p_t = p₀Kᵗ, t steps of a chain that leaves p_θ in place. No
step of such a chain raises the divergence from p_θ, so CD_t ≥ 0. The sources let the chain be any MCMC sampler, and
then conclude from CD_t = 0 that p₀ = p_θ, and CD_t → KL. That needs more: a chain that forgets where it started.
Metropolis' flips of one unit at a time leave the flat distribution in place, but accept every flip, so states with an
even number of +1 and states with an odd number take turns. If all even states are as likely at
the start, CD_t = 0 for all t, and KL = log 2.

Gagnon 4.1 prints that the chain's stationary law is p_data; it is p_θ. With the printed one p_t = p_data for all t, so
CD_t would be zero for every model.
"""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Generator, Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.finite_states import all_states, kl, pairwise_energy, sweep_kernel
from ebmbench.core.streams import draws
from ebmbench.report.figures.theme import PALETTE

PAPER = "Gagnon & Lajoie, section 4.1; Hinton (2002); Amini, lecture 7, section 4"
YEAR = 2002
LINK = ("https://arxiv.org/abs/2202.12176", "https://doi.org/10.1162/089976602760128018")

CLAIM = Claim(
    sentence="CD_t = KL(p₀‖p_θ) − KL(p_t‖p_θ) is never negative, it is zero only if the model is the truth, and it "
    "tends to KL(p₀‖p_θ) as t grows.",
    here="Random Boltzmann machines with four units and random data, all 16 states enumerated. The chain is a sweep of "
    "the benchmark's Gibbs sampler. The sources' «any sampler» is too wide: a valid chain that never forgets its start "
    "is measured beside it, and so is the stationary law that Gagnon 4.1 prints.",
    seeds=5,
    arms=("gibbs", "alternating"),
    criteria=(
        Criterion("least", "smallest CD_t of 20 machines, t = 1, 2, 4 … 65536, in nats", "above", -1e-12, exact=True),
        Criterion("truth", "largest |CD_t| if the data are the model", "below", 1e-12, exact=True),
        Criterion("away", "smallest CD_1/KL, also of data near the model (KL from 1e-6 on)", "above", 1e-4, exact=True),
        Criterion("limit", "largest |CD_t/KL − 1| at t = 65536", "below", 1e-6, exact=True),
        Criterion(
            "alternating", "contrast: largest CD_t/KL of a valid chain that never forgets", "below", 1e-12, exact=True
        ),
        Criterion(
            "printed",
            "contrast: largest |CD_t| with the stationary law as printed, p_data",
            "below",
            1e-12,
            exact=True,
        ),
    ),
    caption="Left: CD_t as a share of KL(p₀‖p_θ), a line per machine of the first seed; flat at 0 the valid chain that "
    "never forgets. Right: CD_1 as a share of KL for data that approach the model.",
)

UNITS, MACHINES, DOUBLINGS = 4, 20, 16  # t = 1, 2, 4 … 2¹⁶
SHARES = torch.logspace(-3.5, 0, 15, dtype=torch.float64)  # of the data, mixed into the model


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Tensor]:
    """`kl`, and `cd` at each t; of Gibbs sweeps for each machine, also at the truth, as printed and near the truth."""
    if arm == "alternating":
        even = ((all_states(UNITS) > 0).sum(1) % 2 == 0).double()
        return _measure_chain(even[None], torch.ones_like(even), _flips())
    draw = draws(seed, "claim", "cd_is_a_divergence")
    found = [_measure_machine(draw(f"machine {i}")) for i in range(MACHINES)]
    return {key: torch.stack([one[key] for one in found]) for key in found[0]}


def _measure_machine(generator: Generator) -> dict[str, Tensor]:
    x = all_states(UNITS)
    parameters = torch.randn(UNITS * (UNITS + 1) // 2, generator=generator, dtype=torch.float64)
    e = pairwise_energy(parameters, x)
    weights = torch.rand(len(x), generator=generator, dtype=torch.float64).log().neg()  # evenly from the simplex
    model, data = torch.softmax(-e, 0), weights / weights.sum()
    starts = torch.lerp(model, data, torch.cat([torch.zeros(1, dtype=torch.float64), SHARES])[:, None])
    return {
        **_measure_chain(starts, model, sweep_kernel(e)),
        "printed": _measure_chain(data[None], model, sweep_kernel(-data.log()))["cd"],
    }


def _measure_chain(data: Tensor, model: Tensor, kernel: Tensor) -> dict[str, Tensor]:
    """KL `(N,)` and CD_t `(N, times)` for each row of `data`, at t = 1, 2, 4 …"""
    data, model, cd = data / data.sum(1, keepdim=True), model / model.sum(), []
    start = kl(data, model)
    for _ in range(DOUBLINGS + 1):
        cd.append(start - kl(data @ kernel, model))
        kernel = kernel @ kernel
        kernel = kernel / kernel.sum(1, keepdim=True)  # or rounding would double each time
    return {"kl": start, "cd": torch.stack(cd, 1)}


def _flips() -> Tensor:
    """Metropolis on a flat energy: one unit, drawn evenly, is flipped for certain."""
    x = all_states(UNITS)
    return ((x[:, None] != x).sum(2) == 1) / torch.tensor(UNITS, dtype=torch.float64)


def statistics(arms: Arms) -> dict[str, float]:
    """The worst machine at the worst t; the first row of data is the model, the last one the data."""
    cd, kls, alternating = arms["gibbs"]["cd"], arms["gibbs"]["kl"], arms["alternating"]
    return {
        "least": float(cd.min()),
        "truth": float(abs(cd[:, 0]).max()),
        "away": float((cd[:, 1:, 0] / kls[:, 1:]).min()),
        "limit": float(abs(cd[:, -1, -1] / kls[:, -1] - 1).max()),
        "alternating": float((abs(alternating["cd"]) / alternating["kl"][:, None]).max()),
        "printed": float(abs(arms["gibbs"]["printed"]).max()),
    }


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """CD_t by t, and CD_1 by KL."""
    left, right = figure.subplots(1, 2)
    cd, kls, other, shade = seeds[0]["gibbs"]["cd"], seeds[0]["gibbs"]["kl"], seeds[0]["alternating"], PALETTE[0]
    times = 2 ** np.arange(cd.shape[-1])
    left.semilogx(times, (cd[:, -1] / kls[:, -1:]).T, ".-", color=shade, linewidth=0.8)
    left.semilogx(times, other["cd"][0] / other["kl"], ".-", color=PALETTE[1])
    left.text(times[-1], 0.93, "Gibbs sweeps", ha="right", color=shade)
    left.text(times[-1], 0.04, "valid, but never forgets", ha="right", color=PALETTE[1])
    left.set(xlabel="t", ylabel="$\\mathrm{CD}_t$ / KL", ylim=(-0.05, 1.05))
    right.semilogx(kls[:, 1:].T, (cd[:, 1:, 0] / kls[:, 1:]).T, ".-", color=shade, linewidth=0.8)
    right.set(xlabel="$\\mathrm{KL}(p_0 \\Vert p_\\theta)$", ylabel="$\\mathrm{CD}_1$ / KL", ylim=(-0.05, 1.05))

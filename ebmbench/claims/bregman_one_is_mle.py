"""Bregman ratio matching against its own copy is maximum likelihood, whatever the convex function

With S₁ = Ψ′ and S₀ = uΨ′ − Ψ, S₀′(u) = u·S₁′(u) = u·Ψ″(u). At 𝒦 = 1 the ratio g of model to copy is 1 wherever the
gradient is taken, so ∇[mean S₀(g(x⁻)) − mean S₁(g(x⁺))] = Ψ″(1)·(∇mean E(x⁺) − ∇mean E(x⁻)): S₀′(1) = Ψ″(1) times
maximum likelihood's on the same events. Eight Ψ; the thesis names three of them and trains none but the logistic. Here
Ψ″(1) is computed from Ψ itself, and the method from its own S₀ and S₁.
"""

from collections.abc import Sequence
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.core.meter import Meter
from ebmbench.core.method import Method
from ebmbench.core.streams import draws, stream
from ebmbench.data import two_moons
from ebmbench.methods import adabrm, mle
from ebmbench.methods.common.bregman import DIVERGENCES, Divergence
from ebmbench.models import mlp
from ebmbench.report.figures.theme import FAINT, INK, colour
from ebmbench.samplers import mala

PAPER = "Xu (2022), section 4.4, eq. 4.12"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"

CLAIM = Claim(
    sentence="When the frozen copy is renewed at every step, self-adapting Bregman ratio matching has the gradient of "
    "maximum likelihood times S₀′(1), for any convex function.",
    here="Ten steps of the benchmark's adabrm on two_moons in double precision, for eight convex functions, with mle "
    "beside it on the same data, chains and weights. 𝒦 = 5 is for contrast.",
    seeds=5,
    arms=("1", "5"),
    criteria=(
        Criterion(
            "gap",
            "largest relative gap between adabrm's gradient at 𝒦 = 1 and Ψ″(1) times mle's, over all Ψ",
            "below",
            1e-10,
            exact=True,
        ),
        Criterion(
            "contrast",
            "the same for 𝒦 = 5 and the Ψ that differs least, where they must differ",
            "above",
            1e-2,
            exact=True,
        ),
    ),
    caption="Left: relative gap ‖∇adabrm − Ψ″(1)∇mle‖ / ‖Ψ″(1)∇mle‖, largest of ten steps, a dot per seed. The line "
    "marks the tolerance, and no gap at all is drawn at 10⁻¹⁷. Right: what ∇mle is multiplied by at 𝒦 = 1, as "
    "measured, against Ψ″(1).",
)

STEPS, BATCH, BUFFER, RATE = 10, 128, 500, 1e-3
CHAINS = mala.Settings(steps=5, step_size=0.05)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Any]:
    """The relative gap `(Ψ, steps)`, and the factor as predicted and as found; all methods see what mle sees."""
    data = bench.data(two_moons, train=5000, test=10)
    start = draws(seed, "claim", "bregman_one_is_mle", "start")
    network = mlp.Model(mlp.Settings(), data.facts).initialise(start("weights")).double()
    every: list[Method] = [mle.Method(mle.Settings(sampler=CHAINS, buffer=BUFFER, rejuvenation=0.25), data.facts)]
    for name in DIVERGENCES:
        chosen = adabrm.Settings(sampler=CHAINS, divergence=name, interval=int(arm), buffer=BUFFER, rejuvenation=0.25)
        every.append(adabrm.Method(chosen, data.facts))
    methods = [method.initialise(start, network).double() for method in every]
    factors = torch.stack([_curvature_at_one(divergence) for divergence in DIVERGENCES.values()])
    optimiser, gaps, found = torch.optim.Adam(network.parameters(), lr=RATE), [], []
    for step in range(STEPS):
        generator = stream(seed, "claim", "bregman_one_is_mle", step, "batch")
        x = data.train[torch.randint(len(data.train), (BATCH,), generator=generator)].double()
        of_mle, *others = (
            _gradient(method, network, x, draws(seed, "claim", "bregman_one_is_mle", step)) for method in methods
        )
        wanted, ours = factors[:, None] * of_mle, torch.stack(others)
        gaps.append((ours - wanted).norm(dim=1) / wanted.norm(dim=1))
        found.append(ours @ of_mle / of_mle.square().sum())
        torch.nn.utils.vector_to_parameters(of_mle, [p.grad for p in network.parameters() if p.grad is not None])
        optimiser.step()
    return {"gap": torch.stack(gaps, 1), "predicted": factors, "factor": torch.stack(found, 1)}


def _gradient(method: Method, network: mlp.Model, x: Tensor, draw: Any) -> Tensor:
    network.zero_grad(set_to_none=False)
    method(Meter(network), x, draw).backward()
    return torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None]).clone()


def _curvature_at_one(divergence: Divergence) -> Tensor:
    """Ψ″(1), by differentiating Ψ twice."""
    one = torch.ones((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(divergence.psi(one), one, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, one)
    return curvature


def statistics(arms: Arms) -> dict[str, float]:
    """The worst Ψ and step of 𝒦 = 1; for 𝒦 = 5 the Ψ whose worst step is the least."""
    return {"gap": float(arms["1"]["gap"].max()), "contrast": float(arms["5"]["gap"].max(1).min())}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Gaps for each Ψ, and the factors."""
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    names = [name.replace("_", "–") for name in DIVERGENCES]
    for arm, shade in [("1", colour("adabrm")), ("5", FAINT)]:
        worst = stacked(seeds, arm, "gap").max(2).clip(1e-17)
        for seed, row in enumerate(worst):
            left.semilogx(row, names, "o", color=shade, label=None if seed else f"$\\mathcal{{K}}$ = {arm}")
    left.axvline(CLAIM.criteria[0].bound, color=INK, linewidth=0.8, linestyle=":")
    left.set(xlabel="relative gap to maximum likelihood")
    left.legend(loc="center", bbox_to_anchor=(0.6, 0.3))
    predicted, found = seeds[0]["1"]["predicted"], stacked(seeds, "1", "factor").mean((0, 2))
    right.plot([0, 1.6], [0, 1.6], color=FAINT, linewidth=1)
    right.plot(predicted, found, "o", color=colour("adabrm"))
    for value in sorted(set(predicted.tolist())):
        label = "\n".join(name for name, one in zip(names, predicted, strict=True) if one == value)
        right.annotate(label, (value, value), (6, -4), textcoords="offset points", va="top", fontsize=8)
    right.set(xlabel="Ψ″(1)", ylabel="factor of ∇mle, as measured", xlim=(0, 2), ylim=(0, 1.7))

"""Approximate contrastive divergence follows the gradient of no function

CD_t = KL(p₀‖p_θ) − KL(p_t‖p_θ) has the gradient E_{p₀}[∇E] − E_{p_t}[∇E] minus a term that runs through the chain,
because p_t depends on θ too. What everybody uses drops that term: g(θ) = E_{p₀}[∇E] − E_{p_t}[∇E]. If g were the
gradient of a function, its work ∮ g·dθ around every closed loop would be zero. A loop with other work proves the claim.

It is a claim about the chain as well. If one step draws one unit, chosen at random, of a machine without hidden units,
then g is 1/n of the gradient of Besag's pseudo-likelihood (Hyvärinen 2006), and its work is zero around every loop.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import softplus

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.finite_states import all_states, kl, pairwise_energy, sweep_kernel, unit_kernel
from ebmbench.core.streams import stream
from ebmbench.report.figures.theme import INK, PALETTE

PAPER = "Gagnon & Lajoie, section 4.4; Sutskever & Tieleman (2010); Fischer & Igel (2011)"
YEAR = 2010
LINK = ("https://arxiv.org/abs/2202.12176", "https://proceedings.mlr.press/v9/sutskever10a.html")

CLAIM = Claim(
    sentence="The update of contrastive divergence, with the term through the sampler left out, is the gradient of no "
    "function.",
    here="The expected update after one step, by enumeration, around a circle of radius 1 in a random plane of the "
    "parameters: of an RBM with three visible and two hidden units and block Gibbs, and of a Boltzmann machine with "
    "three units and a Gibbs sweep. Work is divided by ∮|g||dθ|. The true gradients of CD_1 and of KL go around the "
    "same circles; so does the update of a chain that draws one random unit, which does follow a function.",
    seeds=5,
    arms=("rbm", "sweep", "one_unit"),
    criteria=(
        Criterion("rbm", "share of the work that is left after a loop, RBM", "above", 1e-6, exact=True),
        Criterion("sweep", "the same, Boltzmann machine with sweeps", "above", 1e-6, exact=True),
        Criterion("whole", "control: the same of CD_1's whole gradient, all machines", "below", 1e-12, exact=True),
        Criterion("kl", "control: the same of KL's gradient, all machines", "below", 1e-12, exact=True),
        Criterion("one_unit", "contrast: of the update of a chain that draws one unit", "below", 1e-12, exact=True),
    ),
    caption="Work that was done up to each point of the loop, over ∮|g||dθ|: what is left at the end proves that the "
    "update is no gradient. The lines are of the first seed, the dots are where all seeds end.",
)

VISIBLE, HIDDEN, POINTS = 3, 2, 128  # the sum over even points of a circle converges faster than any power
FIELDS = ("update", "whole", "kl")

Kernel = Callable[[Tensor], Tensor]


def measure(arm: str, seed: int, bench: Bench) -> dict[str, Tensor]:
    """For each field: `work` `(POINTS,)` along the loop, and `length`, ∮|g||dθ|."""
    generator = stream(seed, "claim", "approximate_cd_has_no_objective", arm)
    size = VISIBLE + HIDDEN + VISIBLE * HIDDEN if arm == "rbm" else VISIBLE * (VISIBLE + 1) // 2
    centre, *plane = torch.randn(3, size, generator=generator, dtype=torch.float64)
    weights = torch.rand(2**VISIBLE, generator=generator, dtype=torch.float64).log().neg()
    angles = torch.arange(POINTS, dtype=torch.float64) * 2 * torch.pi / POINTS
    one, two = torch.linalg.qr(torch.stack(plane, 1))[0].T
    loop = centre + angles.cos()[:, None] * one + angles.sin()[:, None] * two
    steps = (-angles.sin()[:, None] * one + angles.cos()[:, None] * two) * 2 * torch.pi / POINTS
    losses = _losses(arm, weights / weights.sum())
    found: dict[str, Tensor] = {}
    for field, loss in zip(FIELDS, losses, strict=True):
        g = torch.func.vmap(torch.func.grad(loss))(loop)
        found |= {f"{field}:work": (g * steps).sum(1), f"{field}:length": (g.norm(dim=1) * steps.norm(dim=1)).sum()}
    return found


def _losses(arm: str, data: Tensor) -> tuple[Callable[[Tensor], Tensor], ...]:
    """Functions of the parameters whose gradients are the fields, in their order."""
    x = all_states(VISIBLE)

    def states(w: Tensor) -> tuple[Tensor, Tensor]:
        """The energy of each state, and the distribution after a step from the data."""
        if arm == "rbm":
            return free_energy(w, x), data @ block_kernel(w, x)
        e = pairwise_energy(w, x)
        units = [unit_kernel(e, unit) for unit in range(VISIBLE)]
        return e, data @ (sweep_kernel(e) if arm == "sweep" else torch.stack(units).mean(0))

    def update(w: Tensor) -> Tensor:
        e, after = states(w)
        return (data - after.detach()) @ e

    def divergence(w: Tensor) -> Tensor:
        return kl(data, torch.softmax(-states(w)[0], 0))

    def whole(w: Tensor) -> Tensor:
        e, after = states(w)
        return divergence(w) - kl(after, torch.softmax(-e, 0))

    return update, whole, divergence


def _unpack(w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Visible biases, hidden biases and weights `(VISIBLE, HIDDEN)` of an RBM."""
    b, c, flat = w.split([VISIBLE, HIDDEN, VISIBLE * HIDDEN])
    return b, c, flat.reshape(VISIBLE, HIDDEN)


def free_energy(w: Tensor, v: Tensor) -> Tensor:
    """F(v) = −bᵀv − Σ_j log 2cosh(c_j + vᵀW_j), units −1 and +1; the constant log 2 is left out."""
    b, c, weights = _unpack(w)
    field = c + v @ weights
    return -v @ b - (softplus(2 * field) - field).sum(1)


def block_kernel(w: Tensor, v: Tensor) -> Tensor:
    """Hidden units given the visible ones, then visible units given those: Σ_h p(h | v) p(v′ | h)."""
    b, c, weights = _unpack(w)
    h = all_states(HIDDEN)
    down = torch.softmax((b + h @ weights.T) @ v.T, 1)
    up = torch.softmax((c + v @ weights) @ h.T, 1)
    return up @ down


def statistics(arms: Arms) -> dict[str, float]:
    """Work over length, of the three updates; of the true gradients the largest over machines."""
    left = {
        (arm, field): abs(float(arms[arm][f"{field}:work"].sum() / arms[arm][f"{field}:length"]))
        for arm in CLAIM.arms
        for field in FIELDS
    }
    controls = {field: max(left[arm, field] for arm in CLAIM.arms) for field in ("whole", "kl")}
    return {arm: left[arm, "update"] for arm in CLAIM.arms} | controls


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Work along the loop, machine by machine."""
    panels = figure.subplots(1, 3, sharey=True)
    titles = ("RBM, block Gibbs", "Boltzmann machine, sweep", "Boltzmann machine, one unit")
    names = {"update": "update", "whole": "gradient of CD₁", "kl": "gradient of KL"}
    for axes, arm, title in zip(panels, CLAIM.arms, titles, strict=True):
        for (field, name), shade in zip(names.items(), (PALETTE[1], PALETTE[2], INK), strict=True):
            lengths = stacked(seeds, arm, f"{field}:length")[:, None]
            work = np.cumsum(stacked(seeds, arm, f"{field}:work"), 1) / lengths
            axes.plot(np.linspace(0, 1, work.shape[1]), work[0], color=shade, linewidth=0.9)
            axes.plot(np.ones(len(work)), work[:, -1], ".", color=shade, label=name)
        axes.set(title=title, xlabel="share of the loop")
    panels[0].set(ylabel="work")
    panels[0].legend(loc="best")

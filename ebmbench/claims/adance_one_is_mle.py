"""AdaNCE with 𝒦 = 1 is maximum likelihood: equal gradients.

With a copy E_m that is renewed at every step, log g(x) = E_m(x) − E(x) is zero where the gradient is taken, and there
softplus has slope ½: ∇L = ½ (∇mean E(x⁺) − ∇mean E(x⁻)). Xu's (3.5) drops the ½ by «∝»; the direction is that of
maximum likelihood on the same events. With 𝒦 > 1 the copy is old at all steps but every 𝒦-th.
"""

from collections.abc import Sequence

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
from ebmbench.methods import adance, mle
from ebmbench.models import mlp
from ebmbench.report.figures.theme import FAINT, colour
from ebmbench.samplers import mala

PAPER = "Xu (2022), section 3.3, eq. 3.5 and algorithm 3.1"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"

CLAIM = Claim(
    sentence="When the frozen copy is renewed at every step, AdaNCE's gradient is that of maximum likelihood.",
    here="Forty steps of the benchmark's own adance on two_moons, with mle beside it on the same data, chains and "
    "weights. The source drops a factor ½ by «∝», so adance is held to half of mle's gradient. 𝒦 = 5 is for contrast.",
    seeds=5,
    arms=("1", "5"),
    criteria=(
        Criterion(
            "gap", "largest relative gap between adance's gradient at 𝒦 = 1 and ½ of mle's", "below", 1e-4, exact=True
        ),
        Criterion("contrast", "the same for 𝒦 = 5, where the two must differ", "above", 1e-2, exact=True),
    ),
    caption="Relative gap ‖∇adance − ½∇mle‖ / ‖½∇mle‖ at every step, a line per seed. The dots "
    "mark the tolerance; a gap of 0 (not a bit differs) is drawn at 10⁻⁹.",
)

STEPS, BATCH, BUFFER, RATE = 40, 256, 1000, 1e-2
CHAINS = mala.Settings(steps=10, step_size=0.05)


def measure(arm: str, seed: int, bench: Bench) -> dict[str, list[float]]:
    """The relative gap at each step; both methods see the same weights, data, chains and noise."""
    data = bench.data(two_moons, train=5000, test=10)
    start = draws(seed, "claim", "adance_one_is_mle", "start")
    network = mlp.Model(mlp.Settings(), data.facts).initialise(start("weights"))
    one = adance.Settings(sampler=CHAINS, interval=int(arm), buffer=BUFFER, rejuvenation=0.25)
    other = mle.Settings(sampler=CHAINS, buffer=BUFFER, rejuvenation=0.25)
    both: list[Method] = [adance.Method(one, data.facts), mle.Method(other, data.facts)]
    methods = [method.initialise(start, network) for method in both]
    optimiser, gaps = torch.optim.Adam(network.parameters(), lr=RATE), []
    for step in range(STEPS):
        index = torch.randint(
            len(data.train), (BATCH,), generator=stream(seed, "claim", "adance_one_is_mle", step, "batch")
        )
        of_adance, of_mle = (_gradient(method, network, data.train[index], seed, step) for method in methods)
        gaps.append(float((of_adance - of_mle / 2).norm() / (of_mle / 2).norm()))
        torch.nn.utils.vector_to_parameters(of_adance, [p.grad for p in network.parameters() if p.grad is not None])
        optimiser.step()
    return {"gap": gaps}


def _gradient(method: Method, network: mlp.Model, x: Tensor, seed: int, step: int) -> Tensor:
    network.zero_grad(set_to_none=False)
    method(Meter(network), x, draws(seed, "claim", "adance_one_is_mle", step)).backward()
    return torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None]).clone()


def statistics(arms: Arms) -> dict[str, float]:
    """The worst step of 𝒦 = 1, and the worst of 𝒦 = 5."""
    return {"gap": float(arms["1"]["gap"].max()), "contrast": float(arms["5"]["gap"].max())}


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Gaps by step."""
    axes = figure.subplots()
    for arm, shade in [("1", colour("adance")), ("5", FAINT)]:
        for i, line in enumerate(stacked(seeds, arm, "gap")):
            axes.semilogy(line.clip(1e-9), ".-", color=shade, label=f"$\\mathcal{{K}}$ = {arm}" if i == 0 else None)
    axes.axhline(CLAIM.criteria[0].bound, color="black", linewidth=0.8, linestyle=":")
    axes.set(xlabel="training step", ylabel="relative gap")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.25))

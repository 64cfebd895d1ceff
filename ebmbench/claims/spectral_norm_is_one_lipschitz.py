"""Spectral normalisation of all layers makes the energy 1-Lipschitz.

A composition of maps is Lipschitz with the product of their constants, and an affine layer's constant is the largest
singular value of its *operator*. Divided by it, all layers have constant 1, activations too, and so

    |E(x) − E(y)| ≤ Π ‖W_i‖ · ‖x − y‖ = ‖x − y‖.

For linear layers that is so. What a convolution is divided by, here as in Miyato et al. (2018) and in PyTorch, is the
norm of its kernel reshaped to a matrix (outputs × rest). A pixel takes part in many windows, n say, and the operator's
norm is up to √n times as large: nothing then keeps E below slope 1. (The source calls the product a lower bound of
the network's constant; it is an upper one.)

A slope ‖∇E(x)‖ that is found anywhere is a lower bound of the constant: one above 1 decides. E is piecewise linear,
with no slope of its slope to follow, so x goes to where E grows fastest from the origin: x ← r·∇E(x)/‖∇E(x)‖, for E
and for −E, a power iteration if E were linear, from images and from noise.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Generator, Tensor, nn
from torch.nn.functional import leaky_relu

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms, Claim, stacked
from ebmbench.claims.testing.criterion import Criterion
from ebmbench.claims.testing.digits_protocol import enlarged, open_digits
from ebmbench.config.sections import Training
from ebmbench.core.energy import by_autograd
from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import Adam
from ebmbench.experiment.data import Data
from ebmbench.methods import mle
from ebmbench.models import convnet
from ebmbench.models.common import spectral
from ebmbench.models.common.activations import SLOPE
from ebmbench.models.common.convolutional import draw_weights, linear
from ebmbench.models.common.spectral import Spectral, operator_norm, weight_norm
from ebmbench.report.figures.theme import FAINT, INK, PALETTE, plain_ticks
from ebmbench.samplers import langevin

PAPER = "Xu (2022), section 3.2.2, eq. 3.10 and algorithm 3.2"
YEAR = 2022
LINK = "https://arxiv.org/abs/2211.02650"
NAME = "spectral_norm_is_one_lipschitz"
ROUNDING = 1.001

CLAIM = Claim(
    sentence="An energy whose layers are all divided by their spectral norm is 1-Lipschitz: its slope is nowhere "
    "above 1.",
    here="ConvNet B with a sixteenth of its channels, normalised as the benchmark does, on digits enlarged to 32×32: "
    "with random weights and after a short training. Operators' norms are by power iteration on the convolutions, "
    "the steepest slope by search, which can only find too little. The control is normalised linear layers, trained "
    "to part digits from noise.",
    seeds=3,
    arms=("initial", "trained", "linear"),
    criteria=(
        Criterion("slope", "steepest slope found of the trained ConvNet", "below", ROUNDING, exact=True),
        Criterion("layer", "largest operator norm of a normalised layer", "below", ROUNDING, exact=True),
        Criterion("control", "steepest slope found of normalised linear layers", "below", ROUNDING, exact=True),
        Criterion("matrix", "largest |σ − 1| of a reshaped weight: it is normalised", "below", 0.02, exact=True),
    ),
    caption="Left: norm of each normalised layer of the trained ConvNet (convolutions c, linear layers l), as a "
    "matrix, which normalisation sets to 1, and as the operator that it is. Right: what that allows the whole energy "
    "to have as slope (the product of operator norms), and the steepest slope that was found. Dots are seeds; 1 is "
    "the claim.",
    pilots="Random linear layers had slope 0.08, which is no control; they are trained to be steep since.",
)

FACTOR, WIDTH = 4, 1 / 16
BUDGET, BATCH = 150_000, 16
STARTS = 64  # of the search, from images and from noise
SIZES = [64, 64, 64, 64, 1]  # of the control
STEPS = 200  # of its training
SEARCH = 50  # steps of the search


def measure(arm: str, seed: int, bench: Bench) -> dict[str, list[float] | float]:
    """Norms of all layers both ways, and the steepest slope found."""
    small, name = open_digits(bench), ("claim", NAME, arm)
    data = enlarged(small, FACTOR)
    if arm == "linear":
        noise = small.facts.starts(len(small.train), stream(seed, *name, "search")).flatten(1)
        control = Perceptron().initialise(stream(seed, *name, "weights"))
        control.part(small.train.flatten(1), noise)
        return {
            **norms(control.layers, (1, 1), stream(seed, *name, "power")),
            "slope": steepest(control, noise[:STARTS]),
        }
    network = _network(arm, seed, bench, data)
    noise = data.facts.starts(STARTS, stream(seed, *name, "search"))
    layers = [*network.convolutions, *network.linears]
    found = norms(layers, network.size, stream(seed, *name, "power"))
    return {**found, "slope": steepest(network, torch.cat([data.test[:STARTS], noise]))}


def _network(arm: str, seed: int, bench: Bench, data: Data) -> convnet.Model:
    model = convnet.Settings(variant="B", width=WIDTH, normalised=True)
    if arm == "initial":
        network = convnet.Model(model, data.facts).initialise(stream(seed, "claim", NAME, "weights"))
    else:
        sampler = langevin.Settings(steps=20, step_size=1.0, noise_std=0.005)
        settings = mle.Settings(model="convnet", learning_rate=2e-3, sampler=sampler, buffer=500, rejuvenation=0.5)
        training = Training(budget=BUDGET, batch_size=BATCH, ema=0.99, beta1=0.0)
        trained = bench.train(mle, settings, data, model, training, seed).trained.network
        assert isinstance(trained, convnet.Model)
        network = trained
    spectral.renew(network, 1000)  # so that σ̂ is σ, and no slack of the power iteration is blamed
    return network


class Perceptron(nn.Module):
    """Normalised linear layers with the ConvNet's activation."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Spectral(linear(i, o)) for i, o in zip(SIZES, SIZES[1:], strict=False))

    def initialise(self, generator: Generator) -> "Perceptron":
        """Weights, then σ̂."""
        draw_weights(self, generator)
        for layer in self.layers:
            assert isinstance(layer, Spectral)
            layer.initialise(generator)
            layer.iterate(100)
        return self

    def part(self, low: Tensor, high: Tensor) -> None:
        """Learn to put E of some events as far below that of others as it can: as steep as can be."""
        optimiser = Adam(self.parameters(), lr=1e-2)
        for _ in range(STEPS):
            spectral.renew(self)
            optimiser.zero_grad()
            (self(low).mean() - self(high).mean()).backward()
            optimiser.step()
        spectral.renew(self, 1000)

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        for layer in self.layers[:-1]:
            x = leaky_relu(layer(x), SLOPE)
        value: Tensor = self.layers[-1](x)
        return value.squeeze(-1)


@torch.no_grad()
def norms(
    layers: Sequence[nn.Module] | nn.ModuleList, size: tuple[int, int], generator: Generator
) -> dict[str, list[float]]:
    """The norm of each normalised layer, on images of `size`: of the reshaped weight, and of the operator."""
    matrix, operator = [], []
    for layer in layers:
        assert isinstance(layer, Spectral)
        plain, divisor = layer.layer, float((layer.layer.weight / layer.weight).flatten()[0])
        matrix.append(weight_norm(plain) / divisor)
        operator.append(matrix[-1])
        if isinstance(plain, nn.Conv2d):
            operator[-1] = operator_norm(plain, size, generator) / divisor
            kernel, stride, padding = plain.kernel_size[0], plain.stride[0], int(plain.padding[0])
            size = ((size[0] + 2 * padding - kernel) // stride + 1, (size[1] + 2 * padding - kernel) // stride + 1)
    return {"matrix": matrix, "operator": operator}


def steepest(energy: Callable[[Tensor], Tensor], starts: Tensor, reach: float = 1e3) -> float:
    """The largest ‖∇E‖ met from `starts` `(B, *event)` on, and far out along the gradients of E and −E."""
    best = 0.0
    for sign in (1.0, -1.0):
        x = starts
        for _ in range(SEARCH):
            slope = -sign * by_autograd(energy, x)[1]
            norm = slope.flatten(1).norm(dim=1)
            best = max(best, float(norm.max()))
            x = reach * slope / norm.reshape(-1, *[1] * (x.dim() - 1)).clamp_min(1e-30)
    return best


def statistics(arms: Arms) -> dict[str, float]:
    """The trained network decides; norms are those of all networks."""
    matrices = [value for arm in arms.values() for value in arm["matrix"]]
    return {
        "slope": float(arms["trained"]["slope"]),
        "layer": max(float(arm["operator"].max()) for arm in arms.values()),
        "control": float(arms["linear"]["slope"]),
        "matrix": max(abs(float(value) - 1) for value in matrices),
    }


def draw(figure: Figure, seeds: Sequence[Arms]) -> None:
    """Norms by layer; bounds and slopes by network."""
    left, right = figure.subplots(1, 2)
    matrix, operator = (stacked(seeds, "trained", key) for key in ("matrix", "operator"))
    places = np.arange(matrix.shape[1])
    for values, shade, label, shift in [
        (matrix, FAINT, "as a matrix", -0.12),
        (operator, PALETTE[0], "as an operator", 0.12),
    ]:
        left.plot(places + shift, values.mean(0), "_", color=shade, markersize=16, markeredgewidth=2, label=label)
        left.plot(np.tile(places + shift, (len(values), 1)), values, ".", color=shade, markersize=4)
    left.set_xticks(places, ["c1", "c2", "c3", "c4", "c5", "l1", "l2"])
    left.set(ylabel="norm of the layer", ylim=(0, None))
    names = {"linear": "linear layers,\ntrained", "initial": "ConvNet,\nrandom", "trained": "ConvNet,\ntrained"}
    for place, arm in enumerate(names):
        bound, slope = stacked(seeds, arm, "operator").prod(1), stacked(seeds, arm, "slope")
        for values, shade, label, shift in [
            (bound, INK, "product of norms", -0.08),
            (slope, PALETTE[1], "found", 0.08),
        ]:
            right.semilogy(
                [place + shift] * len(values), values, "o", color=shade, alpha=0.6, label=label if not place else None
            )
    right.set_xticks(range(3), [*names.values()])
    right.set(ylabel="Lipschitz constant", xlim=(-0.5, 2.5))
    plain_ticks(right.yaxis, *right.get_ylim())
    for axes in (left, right):
        axes.axhline(1, color=INK, linewidth=0.8, linestyle=":")
        axes.legend()

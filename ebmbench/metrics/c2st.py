"""Classifier two-sample test: how often a small network tells samples from test data that it has not seen. 0.5 is best.

Samples and as many test events are mixed and cut into five folds. A perceptron with two hidden layers of 64 learns from
four folds and is asked of the fifth, in turn; the accuracy is over all events. It always has the same size, weights to
begin with, and number of steps, so a value compares models, and is a lower bound of what could be told. For two
densities p and q the best accuracy is ½ + ½ · TV(p, q). Test events that are samples too are left out of the test (the
oracle's images are such): else what is learned of one copy is wrong of the other, and the accuracy falls below chance.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, silu

from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Lopez-Paz & Oquab, Revisiting Classifier Two-Sample Tests, ICLR 2017"
YEAR = 2017
LINK = "https://arxiv.org/abs/1610.06545"
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("samples",)
FLOOR = 0.53
FOLDS, WIDTH, STEPS, BATCH = 5, 64, 400, 256
RATE, DECAY = 3e-3, 1e-2  # of AdamW; the rate falls to zero


def compute(e: Evaluation) -> Value:
    """With equally many of both; the error is that of a share of so many events."""
    others = without(e.test, e.samples)
    count = min(len(e.samples), len(others))
    if count < 2 * FOLDS:
        raise Unavailable(f"needs {2 * FOLDS} samples and as many other test events, has {count}")
    x = torch.cat([part[:count].double().flatten(1) for part in (e.samples, others)])
    value = float(told_apart(x, torch.arange(2 * count) < count).double().mean())
    error = math.sqrt(value * (1 - value) / (2 * count))
    protocol = f"{count} samples and as many test events, {FOLDS} folds, perceptron {WIDTH}-{WIDTH}, {STEPS} steps"
    return Value(value, error, 2 * count, protocol)


def without(x: Tensor, samples: Tensor) -> Tensor:
    """The events of `(N, *event)` that are no samples, to the last bit."""
    taken = {one.numpy().tobytes() for one in samples.to(x).cpu()}
    return x[[one.numpy().tobytes() not in taken for one in x]]


def told_apart(x: Tensor, labels: Tensor) -> Tensor:
    """Whether each event `(N, D)` got its label from the classifier that did not learn from it, `(N,)`."""
    right = torch.empty_like(labels)
    order = torch.randperm(len(x), generator=stream(0, "c2st", "folds"))
    for held_out, rest in _folds(order):
        mean, deviation = x[rest].mean(0), x[rest].std(0)
        z = ((x - mean) / deviation.clamp_min(1e-12)).float()
        weights = train(z[rest], labels[rest].float())
        with torch.no_grad():
            right[held_out] = (logits(weights, z[held_out]) > 0) == labels[held_out]
    return right


def _folds(order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    parts = order.chunk(FOLDS)
    for number, part in enumerate(parts):
        yield part, torch.cat([*parts[:number], *parts[number + 1 :]])


def train(x: Tensor, labels: Tensor) -> list[Tensor]:
    """Matrices and biases of the perceptron."""
    generator = stream(0, "c2st", "weights")
    weights = []
    for inputs, outputs in ((x.shape[1], WIDTH), (WIDTH, WIDTH), (WIDTH, 1)):
        weights += [torch.randn(inputs, outputs, generator=generator) * math.sqrt(2 / inputs), torch.zeros(outputs)]
    weights = [weight.requires_grad_(True) for weight in weights]
    optimiser = torch.optim.AdamW(weights, lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    for step in range(STEPS):
        index = torch.randint(len(x), (BATCH,), generator=stream(0, "c2st", "batch", step))
        optimiser.zero_grad()
        binary_cross_entropy_with_logits(logits(weights, x[index]), labels[index]).backward()
        optimiser.step()
        schedule.step()
    return weights


def logits(weights: list[Tensor], x: Tensor) -> Tensor:
    """Positive where the label is likely true, `(B, D) -> (B,)`."""
    a, b, c, d, e, f = weights
    return torch.addmm(f, silu(torch.addmm(d, silu(torch.addmm(b, x, a)), c)), e).squeeze(1)

"""The reference classifier: a small convolutional network whose penultimate layer is what FID and its kin look at.

Blocks of 3×3 convolution, 2×2 max pooling, batch normalisation and ReLU until the image is at most 4×4, then 64
features φ(x) (linear, so that no unit is dead), and logits A SiLU(φ(x)) + b. Inception knows photographs; on
8×8 digits a classifier of the data's own labels sees what matters (LeCun et al. 1998 is the pattern, sizes are ours).

Trained by Adam with the one-cycle schedule (Smith & Topin 2018) on images shifted by a few pixels.
"""

import math
from collections.abc import Iterator
from typing import Self

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, pad, relu, silu
from tqdm import tqdm

from ebmbench.config.sections import Features
from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import Adam, skip_init

WIDTH = 64  # features
SEED = 0  # one classifier per dataset, whatever the suite's seeds
WARM_UP = 0.2  # share of the steps in which the learning rate rises


class Classifier(nn.Module):
    """Images `(B, C, H, W)` in [−1, 1] -> logits `(B, classes)`."""

    def __init__(self, shape: list[int], classes: int) -> None:
        super().__init__()
        channels, height, width = shape
        # Doubling up to the last block; a colour image has more to tell than a grey one.
        blocks = max(2, math.ceil(math.log2(max(height, width) / 4)))
        last = 64 if channels == 1 else 128
        sizes = [channels] + [max(16, last >> (blocks - 1 - i)) for i in range(blocks)]
        # Without skip_init each layer would draw its weights from the global generator, only to be drawn anew.
        self.convolutions = nn.ModuleList(
            skip_init(nn.Conv2d, i, o, 3, padding=1, bias=False) for i, o in zip(sizes, sizes[1:], strict=False)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(size) for size in sizes[1:])
        self.pool = nn.MaxPool2d(2, ceil_mode=True)
        for _ in range(blocks):
            if max(height, width) > 4:
                height, width = math.ceil(height / 2), math.ceil(width / 2)
        self.linear = skip_init(nn.Linear, sizes[-1] * height * width, WIDTH)
        self.head = skip_init(nn.Linear, WIDTH, classes)

    def initialise(self, generator: Generator) -> Self:
        """He-normal weights from one named stream, biases zero."""
        for layer in [*self.convolutions, self.linear, self.head]:
            assert isinstance(layer, nn.Conv2d | nn.Linear)
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        return self

    def features(self, x: Tensor) -> Tensor:
        """φ(x), `(B, 64)`."""
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = convolution(x)
            # Pooled before it is normalised: a quarter of the work.
            x = relu(norm(self.pool(x) if max(x.shape[-2:]) > 4 else x))
        features: Tensor = self.linear(x.flatten(1))
        return features

    def logits(self, features: Tensor) -> Tensor:
        """What the head makes of features, `(B, classes)`."""
        logits: Tensor = self.head(silu(features))
        return logits

    def forward(self, x: Tensor) -> Tensor:
        """The logits of images."""
        return self.logits(self.features(x))


def train(x: Tensor, labels: Tensor, classes: int, settings: Features) -> Classifier:
    """A classifier of images `(N, C, H, W)`, ready for evaluation: its batch normalisation is frozen."""
    network = Classifier(list(x.shape[1:]), classes).initialise(stream(SEED, "features", "weights"))
    optimiser = Adam(network.parameters(), lr=settings.learning_rate)
    steps = settings.epochs * (len(x) // min(settings.batch_size, len(x)))
    with tqdm(total=steps, unit=" steps", desc="classifier", disable=None) as bar:
        for step, index in enumerate(_batches(len(x), settings)):
            optimiser.param_groups[0]["lr"] = settings.learning_rate * one_cycle((step + 1) / (steps + 1))
            batch = shifted(x[index], stream(SEED, "features", "shifts", step))
            optimiser.zero_grad()
            cross_entropy(network(batch), labels[index]).backward()
            optimiser.step()
            bar.update()
    return network.eval().requires_grad_(False)


def one_cycle(progress: float) -> float:
    """The share of the largest learning rate: up in a straight line, down in half a cosine."""
    if progress < WARM_UP:
        return progress / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (progress - WARM_UP) / (1 - WARM_UP)))


def shifted(x: Tensor, generator: Generator) -> Tensor:
    """Every image moved by up to a fourteenth of its side (one pixel at least), its border repeated."""
    count, _, height, width = x.shape
    most = max(1, max(height, width) // 14)
    wide = pad(x, (most,) * 4, mode="replicate")
    down, right = torch.randint(2 * most + 1, (2, count, 1, 1), generator=generator)
    rows, columns = torch.arange(height)[:, None] + down, torch.arange(width) + right
    return wide.permute(0, 2, 3, 1)[torch.arange(count)[:, None, None], rows, columns].permute(0, 3, 1, 2).contiguous()


def _batches(count: int, settings: Features) -> Iterator[Tensor]:
    """The indices of whole batches; every epoch another order."""
    size = min(settings.batch_size, count)
    for epoch in range(settings.epochs):
        order = torch.randperm(count, generator=stream(SEED, "features", "batches", epoch))
        yield from order[: count // size * size].split(size)


@torch.no_grad()
def in_batches(network: Classifier, x: Tensor, size: int = 500) -> Tensor:
    """The features of many images, `(N, 64)`."""
    return torch.cat([network.features(batch) for batch in x.split(size)])

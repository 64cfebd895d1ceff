"""The reference classifier: a small convolutional network whose penultimate layer is what FID and its kin look at.

Blocks of 3×3 convolution, 2×2 max pooling, batch normalisation and ReLU until the image is at most 4×4, then 64
features φ(x) (linear, so that no unit is dead), and logits A SiLU(φ(x)) + b. Inception knows photographs; on
8×8 digits a classifier of the data's own labels sees what matters (LeCun et al. 1998 is the pattern, sizes are ours).

Trained by Adam with the one-cycle schedule (Smith & Topin 2018) on images shifted by a few pixels.

Its file `features/<dataset>/classifier.safetensors` holds, beside the weights, mean and deviation of each feature over
the training images: features are always standardised by the same numbers. Its name is the dataset's with a hash of all
tensors: equal names, equal features.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, pad, relu, silu
from tqdm import tqdm

from ebmbench.config.sections import Features
from ebmbench.core import checkpoint
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import Adam, skip_init
from ebmbench.workspace.progress import progress

FILE = "classifier.safetensors"
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
        """The logits of features, `(B, classes)`."""
        logits: Tensor = self.head(silu(features))
        return logits

    def forward(self, x: Tensor) -> Tensor:
        """The logits of images."""
        return self.logits(self.features(x))


def train(x: Tensor, labels: Tensor, classes: int, settings: Features) -> Classifier:
    """Train a classifier of images `(N, C, H, W)`; its batch normalisation is frozen for evaluation."""
    network = Classifier(list(x.shape[1:]), classes).initialise(stream(SEED, "features", "weights"))
    optimiser = Adam(network.parameters(), lr=settings.learning_rate)
    steps = settings.epochs * (len(x) // min(settings.batch_size, len(x)))
    with tqdm(total=steps, unit=" steps", desc="classifier", disable=None) as bar:
        for step, index in enumerate(_batches(len(x), settings)):
            optimiser.param_groups[0]["lr"] = settings.learning_rate * one_cycle((step + 1) / (steps + 1))
            batch = shift(x[index], stream(SEED, "features", "shifts", step))
            optimiser.zero_grad()
            cross_entropy(network(batch), labels[index]).backward()
            optimiser.step()
            bar.update()
            progress.update((step + 1) / steps, step + 1)
    return network.eval().requires_grad_(False)


def one_cycle(share: float) -> float:
    """The share of the largest learning rate: up in a straight line, down in half a cosine."""
    if share < WARM_UP:
        return share / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (share - WARM_UP) / (1 - WARM_UP)))


def shift(x: Tensor, generator: Generator) -> Tensor:
    """Move every image by up to a fourteenth of its side (one pixel at least) and repeat its border."""
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
def _features(network: Classifier, x: Tensor) -> Tensor:
    """The features of many images, `(N, 64)`."""
    return torch.cat([network.features(batch) for batch in x.split(500)])


@dataclass(frozen=True)
class ReferenceClassifier:
    """A trained classifier with its standardisation. `levels` is how many grey values the images have."""

    dataset: str
    shape: list[int]
    levels: int
    classes: list[str]
    tensors: dict[str, Tensor]

    @classmethod
    def of(cls, network: Classifier, facts: Facts, train: Tensor) -> Self:
        """Measure a trained network's features on the training images."""
        features = _features(network, train).double()
        tensors = checkpoint.add_prefix("network", network.state_dict())
        # A millionth, so that a feature that is the same for all images stays finite.
        tensors |= {"mean": features.mean(0), "deviation": features.std(0) + 1e-6}
        return cls(facts.name, facts.shape, facts.image_levels, facts.classes, tensors)

    @property
    def hash(self) -> str:
        """`hash_tensors` of all tensors."""
        return hash_tensors(self.tensors)

    @property
    def name(self) -> str:
        """The extractor's name."""
        return f"classifier-{self.dataset}-{self.hash}"

    def network(self) -> Classifier:
        """A network with these weights, frozen."""
        network = Classifier(self.shape, len(self.classes))
        network.load_state_dict(checkpoint.select_prefix("network", self.tensors))
        return network.eval().requires_grad_(False)

    @torch.no_grad()
    def classify(self, x: Tensor) -> Tensor:
        """The class of each image `(N, C, H, W)` in [−1, 1], `(N,)`."""
        network = self.network()
        return network.logits(_features(network, x)).argmax(1)

    def save(self, folder: Path) -> None:
        """Write the file."""
        header = {"dataset": self.dataset, "shape": self.shape, "levels": self.levels, "classes": self.classes}
        checkpoint.save(folder / FILE, self.tensors, header)


def load_classifier(folder: Path) -> ReferenceClassifier:
    """Read the file of a folder `features/<dataset>/`."""
    tensors, header = checkpoint.load(folder / FILE)
    return ReferenceClassifier(tensors=tensors, **header)


def hash_tensors(tensors: dict[str, Tensor]) -> str:
    """The first 12 hex digits of the SHA-256 of tensors, their names, types and shapes."""
    whole = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        whole.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        whole.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return whole.hexdigest()[:12]

"""A trained reference classifier as a file: `features/<dataset>/classifier.safetensors`.

Beside the weights it holds mean and deviation of each feature over the training images, so that features are
standardised by the real data, always by the same numbers. Its name is the dataset's with a hash of all tensors:
equal names, equal features.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from ebmbench.core import checkpoint
from ebmbench.core.dataset import Facts
from ebmbench.features.classifier import Classifier, in_batches

FILE = "classifier.safetensors"


@dataclass(frozen=True)
class Reference:
    """A classifier with its standardisation. `levels` is how many grey values the images have."""

    dataset: str
    shape: list[int]
    levels: int
    classes: list[str]
    tensors: dict[str, Tensor]

    @classmethod
    def of(cls, network: Classifier, facts: Facts, train: Tensor) -> Self:
        """Measure a trained network's features on the training images."""
        assert facts.levels is not None
        features = in_batches(network, train).double()
        tensors = checkpoint.prefixed("network", network.state_dict())
        # A millionth, so that a feature that is the same for all images stays finite.
        tensors |= {"mean": features.mean(0), "deviation": features.std(0) + 1e-6}
        return cls(facts.name, facts.shape, facts.levels, facts.classes, tensors)

    @property
    def hash(self) -> str:
        """The first 12 hex digits of the SHA-256 of all tensors."""
        return tensors_hash(self.tensors)

    @property
    def name(self) -> str:
        """The extractor's name."""
        return f"classifier-{self.dataset}-{self.hash}"

    def network(self) -> Classifier:
        """A network with these weights, frozen."""
        network = Classifier(self.shape, len(self.classes))
        network.load_state_dict(checkpoint.section("network", self.tensors))
        return network.eval().requires_grad_(False)

    @torch.no_grad()
    def classify(self, x: Tensor) -> Tensor:
        """The class of each image `(N, C, H, W)` in [−1, 1], `(N,)`."""
        network = self.network()
        return network.logits(in_batches(network, x)).argmax(1)

    def save(self, folder: Path) -> None:
        """Write the file."""
        header = {"dataset": self.dataset, "shape": self.shape, "levels": self.levels, "classes": self.classes}
        checkpoint.save(folder / FILE, self.tensors, header)


def load(folder: Path) -> Reference:
    """Read the file of a folder `features/<dataset>/`."""
    tensors, header = checkpoint.load(folder / FILE)
    return Reference(tensors=tensors, **header)


def tensors_hash(tensors: dict[str, Tensor]) -> str:
    """Names weights by their names and bytes."""
    whole = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        whole.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        whole.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return whole.hexdigest()[:12]

"""Extractors: what turns uint8 images into features and logits, in float64, under a name with the weights' hash.

The reference classifier gives its standardised features and its logits; for Inception-v3 see `inception.py`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from ebmbench.core.dataset import from_levels
from ebmbench.features.classifier import Classifier, ReferenceClassifier

BATCH = 250  # images at a time
Outputs = tuple[Tensor, Tensor]
"""Features `(N, D)` for FID, KID, precision and recall, and logits `(N, K)` for IS."""


class Extractor(Protocol):
    """Features and logits of images `(B, C, H, W)` in uint8."""

    @property
    def name(self) -> str:
        """Equal names, equal features."""

    def __call__(self, images: Tensor) -> Outputs:
        """Of one batch."""


@dataclass(frozen=True)
class ClassifierExtractor:
    """The reference classifier of a dataset as an extractor."""

    reference: ReferenceClassifier

    @cached_property
    def name(self) -> str:
        """The classifier's name."""
        return self.reference.name

    @cached_property
    def _network(self) -> Classifier:
        return self.reference.network().to(device_name())

    def __call__(self, images: Tensor) -> Outputs:
        """Of one batch."""
        raw = self._network.features(from_levels(images, self.reference.levels))
        mean, deviation = (self.reference.tensors[name].to(raw.device) for name in ("mean", "deviation"))
        return (raw.double() - mean) / deviation, self._network.logits(raw).double()


@torch.no_grad()
def extract(images: Tensor, extractor: Extractor) -> Outputs:
    """Features and logits of many images, on the CPU."""
    batches = [[output.cpu() for output in extractor(batch.to(device_name()))] for batch in images.split(BATCH)]
    features, logits = (torch.cat(list(outputs)) for outputs in zip(*batches, strict=True))
    return features, logits


def device_name() -> str:
    """Where features are computed: a GPU rounds differently."""
    return "cuda" if torch.cuda.is_available() else "cpu"

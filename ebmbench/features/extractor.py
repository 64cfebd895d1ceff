"""Extractors for torch-fidelity: classes that it finds by name, from uint8 images to features and logits.

The reference classifier gives its standardised features (FID, KID, precision and recall) and its logits (IS) in
float64, because torch-fidelity sums means in the features' own precision. Inception-v3 gives its customary layers, see
`inception.py`. Both are registered under a name with the weights' hash.
"""

from typing import Any

from torch import Tensor

from ebmbench.core.dataset import from_levels
from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.features.classifier import ReferenceClassifier

LAYERS = {"isc": "logits", "fid": "features", "kid": "features", "prc": "features"}


def register(name: str, extractor: type) -> str:
    """Register an extractor with torch-fidelity, once per process, and return its name."""
    registry = torch_fidelity().registry
    if name not in registry.FEATURE_EXTRACTORS_REGISTRY:
        registry.register_feature_extractor(name, extractor)
    return name


def register_classifier(reference: ReferenceClassifier) -> str:
    """Register a reference classifier and return its name."""
    base: Any = torch_fidelity().FeatureExtractorBase

    class ClassifierExtractor(base):  # type: ignore[misc]  # torch-fidelity has no types
        """Images `(B, C, H, W)` in uint8 -> a tuple of the layers in `features_list`."""

        def __init__(self, name: str, features_list: list[str], **_: Any) -> None:
            super().__init__(name, features_list)
            self.network = reference.network()
            self.register_buffer("mean", reference.tensors["mean"])
            self.register_buffer("deviation", reference.tensors["deviation"])

        @staticmethod
        def get_provided_features_list() -> tuple[str, ...]:
            return ("features", "logits")

        @staticmethod
        def get_default_feature_layer_for_metric(metric: str) -> str:
            return LAYERS[metric]

        @staticmethod
        def can_be_compiled() -> bool:
            return False

        def forward(self, images: Tensor) -> tuple[Tensor, ...]:
            raw = self.network.features(from_levels(images, reference.levels))
            found = {"features": (raw.double() - self.mean) / self.deviation, "logits": self.network.logits(raw)}
            return tuple(found[layer].double() for layer in self.features_list)

    return register(reference.name, ClassifierExtractor)

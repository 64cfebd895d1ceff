"""FID, KID, IS, precision and recall of generated images, once per evaluation.

All compare features φ of generated images with those of real ones, and images are first quantised as the data are.
φ is the dataset's reference classifier (standardised by the training images), or Inception-v3 if its weights are
given. Numbers of different φ, n or reference cannot be compared, so every one carries them in its protocol.

The formulas are torch-fidelity's, operation by operation, and give its numbers bit for bit (a test compares them). It
is not imported: it imports all of torchvision, which takes seconds.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from ebmbench.core.dataset import to_levels
from ebmbench.core.streams import stream
from ebmbench.features.classifier import FILE, ReferenceClassifier, load_classifier
from ebmbench.features.extractor import ClassifierExtractor, Extractor, device_name, extract
from ebmbench.features.inception import InceptionExtractor
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable
from ebmbench.metrics.common.neighbours import precision_and_recall, radii
from ebmbench.metrics.common.shared import Tensors

SEED = 0
FEWEST = 10  # images: as many as IS has splits, more than precision has neighbours
NOISE = 0.2  # deviation of the noise on the test images that FID is measured against
NEIGHBOURS = 3  # Kynkäänniemi et al. 2019
KID_SUBSETS = 100
IS_SPLITS = 10  # Salimans et al. 2016

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fidelity:
    """The numbers of one set of samples. Deviations are over subsets (KID) and splits (IS)."""

    fid: float
    kid: float
    kid_deviation: float
    inception_score: float
    inception_deviation: float
    precision: float
    recall: float
    n: int
    kid_subset: int
    protocol: str


def fidelity(e: Evaluation) -> Fidelity:
    """All numbers of an evaluation, computed once and cached in it."""
    kept = vars(e)
    if "fidelity" not in kept:
        kept["fidelity"] = _measure(e)
    found: Fidelity = kept["fidelity"]
    return found


def _measure(e: Evaluation) -> Fidelity:
    images, extractor = generated_images(e), find_extractor(e)
    (features, logits), real = extract(images, extractor), real_features(e, extractor)
    subset = min(e.settings.kid_subset, len(images), len(real["features"]))
    kid, kid_deviation = kernel_distance(features.numpy(), real["features"].numpy(), subset)
    score, score_deviation = inception_score(logits)
    precision, recall = precision_and_recall(features, real["features"], NEIGHBOURS, real["radii"])
    return Fidelity(
        fid=frechet_distance(moments(features), (real["mean"].numpy(), real["covariance"].numpy())),
        kid=kid,
        kid_deviation=kid_deviation,
        inception_score=score,
        inception_deviation=score_deviation,
        precision=precision,
        recall=recall,
        n=len(images),
        kid_subset=subset,
        protocol=protocol(e, extractor.name, len(real["features"])),
    )


def real_features(e: Evaluation, extractor: Extractor) -> Tensors:
    """Features of the reference images with their mean, covariance and radii: the same for all models of a dataset."""
    real = reference(e)

    def make() -> Tensors:
        features, _ = extract(real, extractor)
        mean, covariance = map(torch.from_numpy, moments(features))
        return {"features": features, "mean": mean, "covariance": covariance, "radii": radii(features, NEIGHBOURS)}

    return e.share(__name__, make, extractor=extractor.name, reference=len(real), device=device_name())


def moments(features: Tensor) -> tuple[Array, Array]:
    """Mean `(D,)` and covariance `(D, D)` of features `(N, D)`."""
    rows = features.numpy()
    return np.mean(rows, axis=0), np.cov(rows, rowvar=False)


def frechet_distance(first: tuple[Array, Array], second: tuple[Array, Array]) -> float:
    """‖μ − μ′‖² + tr(Σ + Σ′ − 2(ΣΣ′)^½) of two Gaussians given by mean and covariance."""
    (mean, covariance), (other_mean, other) = first, second
    shift = mean - other_mean
    root = np.sum(np.sqrt(np.linalg.eigvals(covariance.dot(other)).astype("complex128")).real)
    return float(shift.dot(shift) + np.trace(covariance) + np.trace(other) - 2 * root)


def kernel_distance(x: Array, y: Array, size: int) -> tuple[float, float]:
    """Mean and deviation of unbiased MMD² over `KID_SUBSETS` pairs of random subsets, kernel (x·y/d + 1)³."""
    draw = np.random.RandomState(SEED)
    values = np.zeros(KID_SUBSETS)
    for i in range(KID_SUBSETS):
        a, b = (z[draw.choice(len(z), size, replace=False)] for z in (x, y))
        within = sum((k.sum(axis=1) - np.diagonal(k)).sum() for k in (_kernel(a, a), _kernel(b, b)))
        values[i] = within / (size * (size - 1)) - 2 * _kernel(a, b).sum(axis=0).sum() / (size * size)
    return float(np.mean(values)), float(np.std(values))


def _kernel(x: Array, y: Array) -> Array:
    kernel: Array = (np.matmul(x, y.T) * (1.0 / x.shape[1]) + 1) ** 3
    return kernel


def inception_score(logits: Tensor) -> tuple[float, float]:
    """Mean and deviation of exp E KL(p(y|x)‖p(y)) over `IS_SPLITS` parts of the images, which are shuffled first."""
    logits = logits[np.random.RandomState(SEED).permutation(len(logits))].double()
    p, log_p = logits.softmax(dim=1), logits.log_softmax(dim=1)
    cuts = [i * len(p) // IS_SPLITS for i in range(IS_SPLITS + 1)]
    scores = []
    for i, j in zip(cuts, cuts[1:], strict=False):
        divergences = p[i:j] * (log_p[i:j] - p[i:j].mean(dim=0, keepdim=True).log())
        scores.append(divergences.sum(dim=1).mean().exp().item())
    return float(np.mean(scores)), float(np.std(scores))


def levels(e: Evaluation) -> int:
    """How many grey values the images have."""
    if not e.facts.is_image:
        raise Unavailable("the data are no images")
    return e.facts.image_levels


def generated_images(e: Evaluation) -> Tensor:
    """The samples, quantised as the data are."""
    count = levels(e)
    if len(e.samples) < FEWEST:
        raise Unavailable(f"needs {FEWEST} samples, has {len(e.samples)}")
    return to_levels(e.samples, count)


def reference(e: Evaluation) -> Tensor:
    """The training images that all are compared with; the same ones every time if not all are wanted."""
    if e.train is None:
        raise Unavailable("there are no training images to compare with")
    order = torch.randperm(len(e.train), generator=stream(SEED, "reference", e.facts.name))
    return to_levels(e.train[order[: e.settings.reference].sort().values], levels(e))


def classifier(e: Evaluation) -> ReferenceClassifier:
    """The dataset's reference classifier."""
    levels(e)
    if not e.facts.classes:
        raise Unavailable("the images have no labels, so there is no reference classifier")
    if e.features is None or not (e.features / FILE).exists():
        raise Unavailable("there is no reference classifier: the stage `features` has not made one")
    return load_classifier(e.features)


def find_extractor(e: Evaluation) -> Extractor:
    """Inception-v3 if its weights are given, else the reference classifier."""
    if e.settings.inception_weights is not None:
        return InceptionExtractor(Path(e.settings.inception_weights), levels(e))
    return ClassifierExtractor(classifier(e))


def protocol(e: Evaluation, extractor: str, real: int) -> str:
    """The protocol of a number: extractor, samples and reference."""
    kind = f" (kind {e.subject.kind})" if e.subject.kind else ""
    unchecked = "" if e.facts.verified else ", of unverified files"
    return f"{extractor}; {e.samples_protocol}{kind}; reference {real} of {e.facts.train} training images{unchecked}"


def add_noise(test: Tensor, count: int, grey_values: int, generator: Generator) -> Tensor:
    """`count` test images (all, if there are fewer) with Gaussian noise, in uint8."""
    chosen = test[torch.randperm(len(test), generator=generator)[:count]]
    return to_levels(chosen + NOISE * torch.randn(chosen.shape, generator=generator), grey_values)


def noisy_fid(e: Evaluation, count: int) -> float:
    """FID of `count` noisy test images: the same for all models of a dataset."""
    extractor = find_extractor(e)
    real = real_features(e, extractor)

    def make() -> Tensors:
        images = add_noise(e.test, count, levels(e), stream(SEED, "noisy", e.facts.name))
        return {"fid": torch.tensor(images_fid(images, extractor, real), dtype=torch.float64)}

    inputs = {"extractor": extractor.name, "reference": len(real["features"]), "count": count}
    inputs |= {"device": device_name()}
    return float(e.share(__name__, make, **inputs)["fid"])


def images_fid(images: Tensor, extractor: Extractor, real: Tensors) -> float:
    """FID of uint8 images against what `real_features` says of real ones."""
    features, _ = extract(images, extractor)
    return frechet_distance(moments(features), (real["mean"].numpy(), real["covariance"].numpy()))

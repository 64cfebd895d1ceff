"""FID, KID, IS, precision, recall, density and coverage of generated images, once per evaluation.

All compare features φ of generated images with those of real ones, and images are first quantised as the data are.
φ is the dataset's reference classifier (standardised by the training images), or Inception-v3 if its weights are
given. Numbers of different φ, n or reference cannot be compared, so every one carries them in its protocol.

KID and IS are of all images at once. Means over small subsets are customary, but IS of 50 images is 5 to 8 % too low,
and the spread of subsets of one sample says nothing about another sample: intervals come from seeds alone.

The formulas are torch-fidelity's (with one subset and one split), and give its numbers; a test compares them. It is not
imported: it imports all of torchvision, which takes seconds. It has neither density nor coverage.
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
from ebmbench.metrics.common.neighbours import density_and_coverage, distances, precision_and_recall
from ebmbench.metrics.common.shared import Tensors

SEED = 0
FEWEST = 10  # images: more than any number here has neighbours
NOISE = 0.2  # deviation of the noise on the test images that FID is measured against
NEIGHBOURS = 3  # of precision and recall: Kynkäänniemi et al. 2019
WIDER = 5  # of density and coverage: Naeem et al. 2020
BLOCK = 1000  # rows and columns of KID's kernel that are held at a time
WHOLE = "all at once, no error: intervals are over seeds"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fidelity:
    """The numbers of one set of samples, its features, and what `real_features` says of real images."""

    fid: float
    kid: float
    inception_score: float
    precision: float
    recall: float
    density: float
    coverage: float
    n: int
    protocol: str
    features: Tensor
    real: Tensors


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
    near, far = (real["distances"][:, k - 1].contiguous() for k in (NEIGHBOURS, WIDER))
    precision, recall = precision_and_recall(features, real["features"], NEIGHBOURS, near)
    density, coverage = density_and_coverage(features, real["features"], WIDER, far)
    return Fidelity(
        fid=frechet_distance(moments(features), (real["mean"].numpy(), real["covariance"].numpy())),
        kid=kernel_distance(features, real["features"], float(real["kernel"])),
        inception_score=inception_score(logits),
        precision=precision,
        recall=recall,
        density=density,
        coverage=coverage,
        n=len(images),
        protocol=protocol(e, extractor.name, len(real["features"])),
        features=features,
        real=real,
    )


def real_features(e: Evaluation, extractor: Extractor) -> Tensors:
    """Features of the reference images, their moments, distances and mean kernel: the same for all models."""
    real = reference(e)

    def make() -> Tensors:
        features, _ = extract(real, extractor)
        mean, covariance = map(torch.from_numpy, moments(features))
        of_pairs = {"distances": distances(features, WIDER), "kernel": torch.tensor(kernel_within(features)).double()}
        return {"features": features, "mean": mean, "covariance": covariance, **of_pairs}

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


def kernel_distance(x: Tensor, y: Tensor, within_y: float) -> float:
    """Unbiased MMD² of features `(N, D)` and `(M, D)`, all pairs of them; `within_y` is `kernel_within(y)`."""
    between = sum(_kernel(a, b).sum().item() for a in x.split(BLOCK) for b in y.split(BLOCK)) / (len(x) * len(y))
    return kernel_within(x) + within_y - 2 * between


def kernel_within(x: Tensor) -> float:
    """The mean kernel of pairs in one set; pairs of an image with itself are left out."""
    blocks, total = x.split(BLOCK), 0.0
    for i, rows in enumerate(blocks):
        whole = _kernel(rows, rows)
        total += (whole.sum() - whole.diagonal().sum()).item()
        total += 2 * sum(_kernel(rows, columns).sum().item() for columns in blocks[i + 1 :])
    return total / (len(x) * (len(x) - 1))


def _kernel(x: Tensor, y: Tensor) -> Tensor:
    """(x·y/d + 1)³."""
    return (x @ y.mT / x.shape[1] + 1).pow(3)


def inception_score(logits: Tensor) -> float:
    """exp E KL(p(y|x)‖p(y)) over all images."""
    logits = logits.double()
    p, log_p = logits.softmax(dim=1), logits.log_softmax(dim=1)
    divergences = p * (log_p - p.mean(dim=0, keepdim=True).log())
    return divergences.sum(dim=1).mean().exp().item()


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
    if min(len(e.train), e.settings.reference) < FEWEST:
        raise Unavailable(f"needs {FEWEST} training images to compare with")
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

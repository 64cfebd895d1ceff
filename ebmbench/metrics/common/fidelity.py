"""FID, KID, IS, precision and recall of generated images, by torch-fidelity, once per evaluation.

All compare features φ of generated images with those of real ones, and images are first quantised as the data are.
φ is the dataset's reference classifier (standardised by the training images), or Inception-v3 if its weights are
given. Numbers of different φ, n or reference cannot be compared, so every one carries them in its protocol.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Generator, Tensor
from torch.utils.data import Dataset

from ebmbench.core.dataset import to_levels
from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.features.classifier import FILE, ReferenceClassifier, load_classifier
from ebmbench.features.extractor import register_classifier
from ebmbench.features.inception import register_inception
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable
from ebmbench.metrics.common.neighbours import BLOCK, our_search

SEED = 0
FEWEST = 10  # images: as many as IS has splits, more than precision has neighbours
NOISE = 0.2  # deviation of the noise on the test images that FID is measured against
NEIGHBOURS = 3  # Kynkäänniemi et al. 2019
KID_SUBSETS = 100
IS_SPLITS = 10  # Salimans et al. 2016

_noisy_fids: dict[tuple[str, int, str, int], float] = {}


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


class Images(Dataset[Tensor]):
    """Images `(N, C, H, W)` in uint8 as a dataset, the form that torch-fidelity reads."""

    def __init__(self, levels: Tensor) -> None:
        self.levels = levels

    def __len__(self) -> int:
        return len(self.levels)

    def __getitem__(self, index: int) -> Tensor:
        return self.levels[index]


def fidelity(e: Evaluation) -> Fidelity:
    """All numbers of an evaluation, computed once and cached in it."""
    kept = vars(e)
    if "fidelity" not in kept:
        kept["fidelity"] = _measure(e)
    found: Fidelity = kept["fidelity"]
    return found


def _measure(e: Evaluation) -> Fidelity:
    images, real, extractor = generated_images(e), reference(e), extractor_name(e)
    subset = min(e.settings.kid_subset, len(images), len(real))
    keys = torch_fidelity()
    found = calculate(images, real, extractor, isc=True, fid=True, kid=True, prc=True, kid_subset_size=subset)
    return Fidelity(
        fid=found[keys.KEY_METRIC_FID],
        kid=found[keys.KEY_METRIC_KID_MEAN],
        kid_deviation=found[keys.KEY_METRIC_KID_STD],
        inception_score=found[keys.KEY_METRIC_ISC_MEAN],
        inception_deviation=found[keys.KEY_METRIC_ISC_STD],
        precision=found[keys.KEY_METRIC_PRECISION],
        recall=found[keys.KEY_METRIC_RECALL],
        n=len(images),
        kid_subset=subset,
        protocol=protocol(e, extractor, len(real)),
    )


def calculate(images: Tensor, real: Tensor, extractor: str, **wanted: bool | int) -> dict[str, float]:
    """torch-fidelity's numbers for uint8 images; they neither depend on the global generators nor change them."""
    with _keep_generators(), our_search():
        found: dict[str, float] = torch_fidelity().calculate_metrics(
            input1=Images(images),
            input2=Images(real),
            feature_extractor=extractor,
            cuda=torch.cuda.is_available(),
            batch_size=250,
            isc_splits=IS_SPLITS,
            kid_subsets=KID_SUBSETS,
            prc_neighborhood=NEIGHBOURS,
            prc_batch_size=BLOCK,
            rng_seed=SEED,
            cache=False,
            save_cpu_ram=True,
            verbose=False,
            **wanted,
        )
    return found


@contextmanager
def _keep_generators() -> Iterator[None]:
    # torch's data loader draws a seed from the global generator even if it has no workers.
    of_numpy, of_python = np.random.get_state(), random.getstate()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        np.random.set_state(of_numpy)
        random.setstate(of_python)


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


def extractor_name(e: Evaluation) -> str:
    """The registered extractor: Inception-v3 if its weights are given, else the reference classifier."""
    if e.settings.inception_weights is not None:
        return register_inception(Path(e.settings.inception_weights), levels(e))
    return register_classifier(classifier(e))


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
    """FID of `count` noisy test images: the same for every run on a dataset, so computed once per process."""
    extractor, real = extractor_name(e), reference(e)
    key = (extractor, count, e.facts.hash, len(real))
    if key not in _noisy_fids:
        images = add_noise(e.test, count, levels(e), stream(SEED, "noisy", e.facts.name))
        _noisy_fids[key] = calculate(images, real, extractor, fid=True)[torch_fidelity().KEY_METRIC_FID]
    return _noisy_fids[key]

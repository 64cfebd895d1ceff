"""FID over that of as many noisy test images: 1 = as far from the data as test images with Gaussian noise 0.2.

Both sides have the same extractor, reference and n, which makes the ratio comparable across datasets where FID
itself is not. If there are more samples than test images, only as many of the first are taken. The scale is ours.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import (
    NOISE,
    fidelity,
    find_extractor,
    generated_images,
    images_fid,
    noisy_fid,
    protocol,
    real_features,
)

PAPER = "Heusel et al., GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium, NeurIPS 2017"
YEAR = 2017
LINK = "https://arxiv.org/abs/1706.08500"
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """Below 1 is better than noisy images; real images get well below it."""
    images, extractor = generated_images(e), find_extractor(e)
    real, n = real_features(e, extractor), min(len(images), len(e.test))
    fid = fidelity(e).fid if n == len(images) else images_fid(images[:n], extractor, real)
    below = noisy_fid(e, n)
    shared = protocol(e, extractor.name, len(real["features"]))
    said = f"{shared}; first {n} samples over {n} test images + noise {NOISE}, FID {below:.6g}"
    return Value(fid / below, n=n, protocol=said)

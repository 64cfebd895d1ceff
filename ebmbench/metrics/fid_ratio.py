"""FID over that of as many noisy test images: 1 = as far from the data as test images with Gaussian noise 0.2.

Both sides have the same extractor, reference and n, which makes the ratio comparable across datasets where FID
itself is not. If there are more samples than test images, only as many of the first are taken. The scale is ours.
"""

from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import (
    NOISE,
    calculate,
    extractor_name,
    fidelity,
    generated_images,
    noisy_fid,
    protocol,
    reference,
)

PAPER = "Heusel et al., GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium, NeurIPS 2017"
YEAR = 2017
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """Below 1 is better than noisy images; real images get well below it."""
    images, real, extractor = generated_images(e), reference(e), extractor_name(e)
    n = min(len(images), len(e.test))
    if n == len(images):
        fid = fidelity(e).fid
    else:
        fid = calculate(images[:n], real, extractor, fid=True)[torch_fidelity().KEY_METRIC_FID]
    below = noisy_fid(e, n)
    said = (
        f"{protocol(e, extractor, len(real))}; first {n} samples over {n} test images + noise {NOISE}, FID {below:.6g}"
    )
    return Value(fid / below, n=n, protocol=said)

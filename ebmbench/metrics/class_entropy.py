"""Entropy of the classes that a classifier sees among the samples, over log(classes): 1 = all equally often.

H = −Σ pₖ log pₖ / log K with pₖ the share of samples in class k. Says nothing of the images' quality: the
classifier puts noise somewhere too.
"""

import math

import torch
from torch import Tensor

from ebmbench.core.dataset import from_levels
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.common.fidelity import classifier, generated_images, levels

PAPER = "Shannon, A Mathematical Theory of Communication, Bell System Technical Journal 27, 1948"
YEAR = 1948
LINK = "https://doi.org/10.1002/j.1538-7305.1948.tb01338.x"
DIRECTION = "higher"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """From the histogram of predicted classes."""
    counts = histogram(e).double()
    if len(counts) < 2:
        raise Unavailable("there is one class only")
    share = counts / counts.sum()
    value = float(torch.special.entr(share).sum()) / math.log(len(share))
    kind = f" (kind {e.subject.kind})" if e.subject.kind else ""
    said = f"{classifier(e).name}; {e.samples_protocol}{kind}; {len(share)} classes"
    return Value(value, n=int(counts.sum()), protocol=said)


def histogram(e: Evaluation) -> Tensor:
    """How many samples the reference classifier puts into each class, `(classes,)`."""
    kept = vars(e)
    if "histogram" not in kept:
        judge = classifier(e)
        images = from_levels(generated_images(e), levels(e))
        kept["histogram"] = torch.bincount(judge.classify(images), minlength=len(judge.classes))
    counts: Tensor = kept["histogram"]
    return counts

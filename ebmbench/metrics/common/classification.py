"""What a model that was trained on labels says of the labels of test events."""

import torch
from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable


def classify(e: Evaluation) -> tuple[Tensor, Tensor, str]:
    """Of each test event the largest p(y|x) in float64, and whether that is of its label; and the protocol."""
    logits = getattr(e.energy, "logits", None)
    if logits is None:
        raise Unavailable("the energy has no logits: it was not trained on labels")
    if e.labels is None:
        raise Unavailable("the test data have no labels")
    with torch.no_grad():
        confidence, guess = logits(e.test.double()).softmax(1).max(1)
    return confidence, guess == e.labels, f"{len(guess)} test events, {len(e.facts.classes)} classes"

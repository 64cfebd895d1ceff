"""Detection of events from elsewhere by a model's energy: the area under the ROC curve, with its standard error.

    AUROC = P(E(y) > E(x)) + ½ P(E(y) = E(x)),   x test data, y from elsewhere:

the share of pairs in which the other event has the higher energy, exactly, by ranks. 1 tells all apart, ½ is chance,
and below ½ the model takes the others for likelier than data. The energy needs no normaliser. The error is DeLong's:
the variance of the share of pairs that an event wins, over the number of events, added up over both sets (DeLong,
DeLong & Clarke-Pearson, Biometrics 44, 1988). It is 0 where all are told apart.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.common.quadrature import in_chunks

EVENTS = 2000  # of either kind, at most: an error of 0.01 at the worst
FEWEST = 10


def detect(e: Evaluation, what: str, make: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Value:
    """AUROC of the energy; `make` gives data and others, `(N, *event)` each, from test images."""
    if not e.facts.is_image:
        raise Unavailable("the data are no images")
    energy = e.energy
    order = torch.randperm(len(e.test), generator=stream(0, "outliers", "test", e.facts.name))
    inside, outside = make(e.test[order[:EVENTS]])
    if min(len(inside), len(outside)) < FEWEST:
        raise Unavailable(f"needs {FEWEST} events of either kind, has {len(inside)} and {len(outside)}")
    of_data, of_others = (in_chunks(energy, x.double()) for x in (inside, outside))
    if torch.isnan(of_data).any() or torch.isnan(of_others).any():
        raise Unavailable("some energies are not numbers")
    value, error = area_under_curve(of_data, of_others)
    level = ", energy of the narrowest level" if e.subject.flow is not None else ""
    return Value(value, error, len(inside) + len(outside), f"{len(inside)} test images, {len(outside)} {what}{level}")


def area_under_curve(below: Tensor, above: Tensor) -> tuple[float, float]:
    """The share of pairs of `(N,)` and `(M,)` in which the second is greater, ties ½, and DeLong's standard error."""
    won = 1 - shares_below(below, above), shares_below(above, below)  # by each of the first, and of the second
    error = math.sqrt(sum(float(part.var()) / len(part) for part in won))
    return float(won[1].mean()), error


def shares_below(x: Tensor, others: Tensor) -> Tensor:
    """For each of x the share of the others that are less, ties ½: its rank among them."""
    ordered = others.sort().values
    ends = [torch.searchsorted(ordered, x, right=right) for right in (False, True)]
    return (ends[0] + ends[1]).double() / (2 * len(others))

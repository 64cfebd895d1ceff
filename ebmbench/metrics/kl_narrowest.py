"""KL divergence from the data to the energy of a ladder's narrowest noise level alone, by quadrature.

`kl` of a model with noise levels judges the density that the probability-flow ODE through all levels gives. This is the
other number: the narrowest level taken as an ordinary energy. Its score may be right near the data, and the weights of
distant modes wrong all the same, since noise that narrow never crosses between them (Song & Ermon 2019, sec. 3.2.2).
"""

from dataclasses import replace

from ebmbench.metrics import kl
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"
DIRECTION = "lower"
NEEDS = ("energy", "density", "flow")


def compute(e: Evaluation) -> Value:
    """In nats. A level that no grid holds is no fault of the model, which is not judged by it."""
    if e.subject.flow is None:
        raise Unavailable("the model has no noise levels")
    try:
        return kl.compute(replace(e, subject=replace(e.subject, flow=None)))
    except Unavailable as reason:
        raise Unavailable(f"of the narrowest level, {reason}") from reason

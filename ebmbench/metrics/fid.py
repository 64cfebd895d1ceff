"""Fréchet distance between Gaussians fitted to features of samples and data, ‖μ − μ′‖² + tr(Σ + Σ′ − 2(ΣΣ′)^½).

Biased upwards for few samples: compare equal n only, and see the oracle's row for what real images get.
"""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.common.fidelity import fidelity

PAPER = "Heusel et al., GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium, NeurIPS 2017"
YEAR = 2017
LINK = "https://arxiv.org/abs/1706.08500"
DIRECTION = "lower"
SAMPLES = True
NEEDS = ("images", "samples")


def compute(e: Evaluation) -> Value:
    """In units of the features' deviations, squared."""
    found = fidelity(e)
    return Value(found.fid, n=found.n, protocol=found.protocol)

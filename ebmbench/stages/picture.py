"""Small arrays for the report's figures of data in the plane: densities on one window, and some samples."""

import torch

from ebmbench.core.facts import Facts
from ebmbench.data.densities.density import Density
from ebmbench.metrics.evaluation import Evaluation, Unavailable
from ebmbench.stages.arrays import Arrays

CELLS = 128
HALF_WIDTH = 3.2  # deviations about the mean; holds all that is visible of every toy density
SAMPLES = 2000


@torch.no_grad()
def picture(evaluation: Evaluation, label: str) -> Arrays:
    """A run's density on the window (if it is normalised) and its first samples."""
    arrays: Arrays = {}
    if evaluation.subject.samples is not None:
        arrays[f"samples:{label}"] = evaluation.subject.samples[:SAMPLES].numpy()
    try:
        log_q = -evaluation.energy(_window(evaluation.facts)[1]) - evaluation.grid.log_z
    except Unavailable:
        return arrays
    arrays[f"model:{label}"] = log_q.exp().reshape(CELLS, CELLS).float().numpy()
    return arrays


def frame(facts: Facts, density: Density | None) -> Arrays:
    """The window's axes and the truth on it."""
    (x, y), points = _window(facts)
    arrays: Arrays = {"x": x.numpy(), "y": y.numpy()}
    if density is not None:
        arrays["truth"] = density.log_prob(points).exp().reshape(CELLS, CELLS).float().numpy()
    return arrays


def _window(facts: Facts) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
    unit = torch.linspace(-HALF_WIDTH, HALF_WIDTH, CELLS, dtype=torch.float64)
    x, y = (mean + facts.scale * unit for mean in facts.mean)
    return (x, y), torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1).reshape(-1, 2)

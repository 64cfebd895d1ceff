"""Small arrays for the report's figures of data in the plane: densities on one window, and some samples.

Small arrays of images for the report's galleries, already in the grey values of a screen.

`images:<label>:<kind>` `(64, C, H, W)`, `chain:<label>:<kind>` `(8, T, C, H, W)` with `chain_steps:<label>:<kind>`,
`histogram:<label>:<kind>` (predicted classes of all samples), and, once for a dataset, `real` and `classes`.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ebmbench.core.dataset import Facts, read_split, to_levels
from ebmbench.data.common.densities import Density
from ebmbench.metrics.class_entropy import histogram
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable
from ebmbench.workspace.files import Arrays

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


SHOWN = 64
SCREEN = 256  # grey values


def gallery(evaluations: Mapping[str, Evaluation], label: str, films: Arrays) -> Arrays:
    """What a run's samples look like, kind by kind."""
    arrays: Arrays = {}
    for kind, evaluation in evaluations.items():
        samples = evaluation.subject.samples
        if samples is not None:
            arrays[f"images:{label}:{kind}"] = _screen(samples[:SHOWN])
        try:
            arrays[f"histogram:{label}:{kind}"] = histogram(evaluation).numpy()
        except Unavailable:
            continue
    for name in films:
        part = f"{label}:{name.removesuffix('_steps')}"
        if name.endswith("_steps"):
            arrays[f"chain_steps:{part}"] = films[name]
        else:
            arrays[f"chain:{part}"] = _screen(torch.from_numpy(films[name]))
    return arrays


def real(facts: Facts, data: Path) -> Arrays:
    """Test images, and what the classes are called."""
    return {"real": _screen(read_split(data, "test")[:SHOWN]), "classes": np.array(facts.classes, dtype=np.str_)}


def _screen(x: Tensor) -> np.ndarray:
    return to_levels(torch.nan_to_num(x), SCREEN).numpy()

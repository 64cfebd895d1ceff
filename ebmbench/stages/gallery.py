"""Small arrays of images for the report's galleries, already in the grey values of a screen.

`images:<label>:<kind>` `(64, C, H, W)`, `chain:<label>:<kind>` `(8, T, C, H, W)` with `chain_steps:<label>:<kind>`,
`histogram:<label>:<kind>` (predicted classes of all samples), and, once for a dataset, `real` and `classes`.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ebmbench.core.facts import Facts, read_split, to_levels
from ebmbench.metrics.class_entropy import histogram
from ebmbench.metrics.evaluation import Evaluation, Unavailable
from ebmbench.stages.arrays import Arrays

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

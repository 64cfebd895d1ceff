"""Small arrays for the report's figures, which are drawn without torch and without models.

Of data in the plane: the window's axes `x` and `y`, the exact density `truth` or else some `data`, each run's density
`model:<label>`, its first samples `samples:<label>`, and some chains on their way, `path:<label>` `(300, T, 2)` in half
precision with `path_steps:<label>`. If the density is known, also its product with itself, turned by `turn` degrees
(`composition.py`): `composed_truth`, and of each run `composed:<label>` and its KL, `composed_kl:<label>`.

Of images, in the grey values of a screen: `images:<label>:<kind>` `(64, C, H, W)`, `chain:<label>:<kind>`
`(8, T, C, H, W)` with `chain_steps:<label>:<kind>`, `histogram:<label>:<kind>` (predicted classes of all samples),
`conditional:<label>` `(classes, 16, C, H, W)` of a model that can draw from each class, and, once for a dataset,
`real`, `classes`, and `covered`, the first of the real ones without their lower half. What a run puts there is
`completed:<label>` `(K, M, C, H, W)`.

Of binary data with rows and columns, as grey values too: `units:<label>` `(64, 1, H, W)`, the first samples, and
`fields:<label>`, the weights of up to 64 hidden units of a machine (grey is 0); completions as of images; once for a
dataset, `real` and `covered`.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ebmbench.core.dataset import Facts, read_split, to_levels
from ebmbench.data.common.densities import Density
from ebmbench.experiment.composition import choose_turn, compose, composed_divergence
from ebmbench.experiment.recording import COMPLETED, upper_half
from ebmbench.metrics.class_entropy import histogram
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable
from ebmbench.metrics.common.quadrature import in_chunks
from ebmbench.workspace.cell import CLASSES
from ebmbench.workspace.files import Arrays

CELLS = 128
HALF_WIDTH = 3.2  # deviations about the mean; holds all that is visible of every toy density
SAMPLES = 2000
IMAGES = 64
SCREEN = 256  # grey values
COMPLETIONS = "completions.npy"  # of a run, beside its films

Evaluations = Mapping[str, Evaluation]
"""By kind of samples; a model without any has one, of kind ""."""


def main_evaluation(evaluations: Evaluations) -> Evaluation:
    """The evaluation for all that needs no samples, or shows one kind of them: that of the long runs."""
    return evaluations.get("long") or next(iter(evaluations.values()))


def draw_model(evaluations: Evaluations, label: str, films: Arrays) -> Arrays:
    """The arrays of one run; none if it has no evaluations, or if its data are neither planar nor images."""
    if not evaluations:
        return {}
    main = main_evaluation(evaluations)
    if main.facts.is_image:
        return _gallery(evaluations, label, films)
    if _is_board(main.facts):
        return _board(main, label) | _completed(main.facts, label, films)
    return _density(main, label) | _path(label, films) if main.facts.shape == [2] else {}


def draw_dataset(facts: Facts, data: Path, density: Density | None) -> Arrays:
    """The arrays that all runs of a dataset share; `data` is its folder."""
    if facts.is_image:
        return _real(read_split(data, "test")) | {"classes": np.array(facts.classes, dtype=np.str_)}
    if _is_board(facts):
        return _real(2 * read_split(data, "test") - 1)
    if facts.shape != [2]:
        return {}
    (x, y), points = _window(facts)
    arrays: Arrays = {"x": x.numpy(), "y": y.numpy()}
    if density is not None:
        arrays["truth"] = _map(density.log_prob(points))
        if (angle := choose_turn(density, facts)) is not None:
            both = compose(density.log_prob, density, angle, points)
            log_z = both.logsumexp(0) + sum(float((axis[1] - axis[0]).log()) for axis in (x, y))
            arrays |= {"composed_truth": _map(both - log_z), "turn": np.array(angle)}
    else:
        arrays["data"] = read_split(data, "test")[:SAMPLES].numpy()
    return arrays


def _real(test: Tensor) -> Arrays:
    """Real images in [−1, 1], and the first of them covered."""
    few = test[:COMPLETED]
    return {"real": _screen(test[:IMAGES]), "covered": _screen(torch.where(upper_half(few), few, 0.0))}


def _completed(facts: Facts, label: str, films: Arrays) -> Arrays:
    """What a run puts into covered images."""
    if COMPLETIONS not in films:
        return {}
    drawn = torch.from_numpy(films[COMPLETIONS])
    return {f"completed:{label}": _screen(2 * drawn - 1 if facts.binary else drawn)}


def _path(label: str, films: Arrays) -> Arrays:
    """The chains of the samples that are shown; a few digits are enough to look at."""
    if "long" not in films:
        return {}
    with np.errstate(over="ignore"):  # what is beyond half precision is beyond the window
        return {f"path:{label}": films["long"].astype(np.float16), f"path_steps:{label}": films["long_steps"]}


@torch.no_grad()
def _density(evaluation: Evaluation, label: str) -> Arrays:
    """A run's density on the window, if it can be normalised, and its first samples."""
    arrays: Arrays = {}
    if evaluation.subject.samples is not None:
        arrays[f"samples:{label}"] = evaluation.subject.samples[:SAMPLES].numpy()
    try:
        log_q = _log_q(evaluation, _window(evaluation.facts)[1])
    except Unavailable:
        return arrays
    arrays[f"model:{label}"] = _map(log_q)
    return arrays | _composed(evaluation, label)


def _composed(evaluation: Evaluation, label: str) -> Arrays:
    """The product of a run's density with itself, turned, and its distance from the product of the truth."""
    if evaluation.density is None or (angle := choose_turn(evaluation.density, evaluation.facts)) is None:
        return {}

    def log_q(x: Tensor) -> Tensor:
        return in_chunks(lambda few: _log_q(evaluation, few), x)

    try:
        divergence, log_z = composed_divergence(evaluation, log_q, angle)
    except Unavailable:  # the grid does not hold the data
        return {}
    both = compose(log_q, evaluation.density, angle, _window(evaluation.facts)[1])
    return {f"composed:{label}": _map(both - log_z), f"composed_kl:{label}": np.array(divergence)}


def _map(log_q: Tensor) -> np.ndarray:
    """A density on the window, row by row of y."""
    return log_q.exp().reshape(CELLS, CELLS).float().numpy()


def _log_q(evaluation: Evaluation, points: Tensor) -> Tensor:
    """log q of the density that metrics judge; of a flow between the points of their grid, since solving takes long."""
    if evaluation.subject.flow is not None:
        return evaluation.grid.interpolate(points)
    return -evaluation.energy(points) - evaluation.grid.log_z


def _window(facts: Facts) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """The axes of the window about the data, and its points `(CELLS², 2)`."""
    unit = torch.linspace(-HALF_WIDTH, HALF_WIDTH, CELLS, dtype=torch.float64)
    x, y = (mean + facts.scale * unit for mean in facts.mean)
    return (x, y), torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1).reshape(-1, 2)


def _gallery(evaluations: Evaluations, label: str, films: Arrays) -> Arrays:
    """A run's images, kind by kind, and its chains on their way."""
    arrays = _completed(main_evaluation(evaluations).facts, label, films)
    for kind, evaluation in evaluations.items():
        samples = evaluation.subject.samples
        if samples is not None:
            arrays[f"images:{label}:{kind}"] = _screen(samples[:IMAGES])
        try:
            arrays[f"histogram:{label}:{kind}"] = histogram(evaluation).numpy()
        except Unavailable:
            continue
    for name in (name for name in films if name != COMPLETIONS):
        part = f"{label}:{name.removesuffix('_steps')}"
        if name.endswith("_steps"):
            arrays[f"chain_steps:{part}"] = films[name]
        else:
            place = f"conditional:{label}" if name == CLASSES else f"chain:{part}"
            arrays[place] = _screen(torch.from_numpy(films[name]))
    return arrays


def _is_board(facts: Facts) -> bool:
    """Whether events are black and white images."""
    return facts.binary and len(facts.shape) == 3 and facts.shape[0] == 1


def _board(evaluation: Evaluation, label: str) -> Arrays:
    """A run's first samples, and the weights of its hidden units, each on a scale of its own."""
    arrays: Arrays = {}
    if evaluation.subject.samples is not None:
        arrays[f"units:{label}"] = _screen(2 * evaluation.subject.samples[:IMAGES] - 1)
    weight = getattr(evaluation.subject.energy, "weight", None)
    if isinstance(weight, Tensor):
        fields = weight.detach().mT[:IMAGES]
        scaled = fields / fields.abs().amax(1, keepdim=True).clamp_min(1e-12)
        arrays[f"fields:{label}"] = _screen(scaled.reshape(-1, *evaluation.facts.shape))
    return arrays


def _screen(x: Tensor) -> np.ndarray:
    return to_levels(torch.nan_to_num(x), SCREEN).numpy()

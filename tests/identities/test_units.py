"""Data in another unit are the same data: what a method learns from them is the same, for every method.

When all lengths are multiplied by u, an energy may change by a constant: E_u(u·x) = E₁(x) + c and u·s_u(u·x) = s₁(x).
A factor that is a power of two changes no digit of a float, so that only constants that are logarithms of lengths
(nce's c) round differently. Other factors round every number once more.
"""

import math
from functools import cache

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.config.sections import Training
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import energy_and_score
from ebmbench.core.streams import stream
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer
from tests.conftest import real_methods

STEPS = 20
# Narrow modes off the origin: gradients of score losses are then long enough to be clipped.
MODES = 2.0 * torch.randint(2, (500, 2), generator=stream(0, "modes")) + 1.0
DATA = MODES + 0.05 * torch.randn(500, 2, generator=stream(0, "data"))
TOLERANCE = {2.0**7: 1e-5, 2.0**-10: 1e-5, 100.0: 1e-4, 0.001: 1e-4}
# The critic of stein starts at zero, so the energy's first gradients are all but zero, and Adam makes whole steps of
# them, their roundings too. Powers of two, which do not round, have no more leave than for the others.
ROUNDED = {"stein": 10}


@cache  # of the unit 1, which every other is compared with
def learned(method: str, unit: float) -> tuple[Tensor, Tensor]:
    """Energies of some events up to a constant, and u times their scores, after some steps of training."""
    data = unit * DATA
    facts = Facts.of("units", data.numpy(), data.numpy(), licence="none", hash="none", classes=list("ab"))
    # Slowly, so that a rounding stays one.
    settings = load("methods", method).Settings(learning_rate=1e-3)
    # A buffer that is wholly drawn in each step, so that a few steps see every chain.
    if hasattr(settings, "buffer"):
        settings = settings.model_copy(update={"buffer": 32})
    model = load("models", settings.model).Settings(width=8, layers=2)
    training = Training(budget=10**9, batch_size=32)
    trainer = Trainer(Job(method, settings, {}, 0, training, model, facts), data, (DATA[:, 0] > 0).long())
    for _ in range(STEPS):
        trainer._update()
    energy = trainer.method.judged(settings, trainer.model, facts)
    value, score = energy_and_score(energy, unit * DATA[:100])
    return (value - value.mean()).detach(), unit * score.detach()


@pytest.mark.parametrize("unit", list(TOLERANCE))
@pytest.mark.parametrize("method", real_methods())
def test_the_unit_of_the_data_changes_nothing_that_is_learned(method: str, unit: float) -> None:
    one, other = learned(method, 1.0), learned(method, unit)
    tolerance = TOLERANCE[unit] * (1 if math.log2(unit).is_integer() else ROUNDED.get(method, 1))
    for ours, theirs in zip(one, other, strict=True):
        assert (ours - theirs).abs().max() < tolerance * ours.abs().max()

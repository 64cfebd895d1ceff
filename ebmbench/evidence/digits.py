"""Digits as the benchmark trains them, for claims on images: the settings of suites/defaults.yaml, which work there."""

from ebmbench.core.sections import Training
from ebmbench.data import digits
from ebmbench.evidence.bench import Bench, Data
from ebmbench.models import mlp
from ebmbench.samplers import langevin

MODEL = mlp.Settings(width=256, layers=2, gain=1.4, bias=0.1)
SAMPLER = langevin.Settings(steps=20, step_size=1.0, noise_std=0.01, box=1.0)
BUDGET = 3_000_000


def open_digits(bench: Bench) -> Data:
    """All 1297 images to train and 500 to test."""
    return bench.data(digits, train=1297, test=500)


def protocol(budget: int = BUDGET) -> Training:
    """How `digits` is trained, with the benchmark's budget or one of the claim's own."""
    return Training(budget=budget, batch_size=64, ema=0.99, beta1=0.0, data_noise=0.03)

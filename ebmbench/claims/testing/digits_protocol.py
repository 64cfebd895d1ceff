"""Digits as the benchmark trains them, for claims on images: data, settings of suites/defaults.yaml, and chains.

ConvNets A, B and C need 28×28 pixels or more: `enlarged` makes each pixel a square of pixels, `reduced` takes the mean
of each square, so that the classifier of small images can judge.
"""

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from ebmbench.claims.testing.bench import Bench
from ebmbench.config.sections import Training
from ebmbench.core.dataset import Facts, from_levels, to_levels
from ebmbench.core.streams import stream
from ebmbench.data import digits
from ebmbench.data.common.images import image_facts
from ebmbench.experiment.data import Data, hash_arrays
from ebmbench.experiment.runs import Run
from ebmbench.methods import cd, mle
from ebmbench.models import mlp
from ebmbench.samplers import langevin

MODEL = mlp.Settings(width=256, layers=2, gain=1.4, bias=0.1)
SAMPLER = langevin.Settings(steps=20, step_size=1.0, noise_std=0.01, box=1.0)
BUDGET = 3_000_000
MLE = mle.Settings(learning_rate=1e-3, sampler=SAMPLER, buffer=2000, energy_penalty=0.01)
CD = cd.Settings(learning_rate=1e-3, sampler=SAMPLER)
CHAINS = 500  # as many as test images


def open_digits(bench: Bench) -> Data:
    """All 1297 images to train and 500 to test."""
    return bench.data(digits, train=1297, test=500)


def protocol(budget: int = BUDGET) -> Training:
    """How `digits` is trained, with the benchmark's budget or one of the claim's own."""
    return Training(budget=budget, batch_size=64, ema=0.99, beta1=0.0, data_noise=0.03)


def from_noise(run: Run, facts: Facts, sampler: langevin.Settings, seed: int, *name: str) -> Tensor:
    """The ends of chains of the trained energy that start from noise, `(CHAINS, *event)`."""
    starts = facts.starts(CHAINS, stream(seed, "claim", *name, "start"))
    return sampler.fit_to(facts).run(run.trained.judged, starts, stream(seed, "claim", *name, "chain")).x


def enlarged(data: Data, factor: int) -> Data:
    """The same images with `factor`² pixels in place of each."""
    levels = data.facts.image_levels
    train, test = (_repeated(to_levels(x, levels), factor) for x in (data.train, data.test))
    more = {"licence": data.facts.licence, "hash": hash_arrays([train, test]), "classes": data.facts.classes}
    facts = image_facts(f"{data.facts.name}_enlarged", train, test, levels, **more)
    return Data(from_levels(train, levels), from_levels(test, levels), facts)


def reduced(x: Tensor, factor: int) -> Tensor:
    """The mean of each square of pixels: undoes `enlarged`; what is not finite is grey."""
    return avg_pool2d(torch.nan_to_num(x, 0.0, 0.0, 0.0).clamp(-1, 1), factor)


def _repeated(x: Tensor, factor: int) -> Tensor:
    return x.repeat_interleave(factor, 2).repeat_interleave(factor, 3)

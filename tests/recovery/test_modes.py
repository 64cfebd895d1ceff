"""The network's initialisation decides what is learned: ours finds eight modes, PyTorch's default a ring."""

import math

import pytest
import torch
from torch import nn

from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics as EvaluationSettings
from ebmbench.config.sections import Training
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.metrics import kl
from ebmbench.metrics.common.evaluation import Evaluation, Subject
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer


def trained_kl(default_initialisation: bool) -> float:
    density = load("data", "eight_gaussians").density()
    data = density.sample(20_000, stream(0, "data"))
    facts = Facts.of("eight_gaussians", data.numpy(), data.numpy(), licence="", hash="")
    methods, models = load("methods", "nce"), load("models", "mlp")
    training = Training(budget=2_000_000, batch_size=256)
    trainer = Trainer(Job("nce", methods.Settings(learning_rate=2e-3), {}, 0, training, models.Settings(), facts), data)
    if default_initialisation:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for layer in trainer.model.modules():
                if isinstance(layer, nn.Linear):
                    layer.reset_parameters()
    while trainer.progress < 1:
        trainer.advance()
    trainer.average.apply()
    subject = Subject(trainer.model.double(), None)
    return kl.compute(Evaluation(subject, data, density, facts, EvaluationSettings(cells=256))).value or math.nan


def test_the_default_learns_the_eight_modes() -> None:
    assert trained_kl(default_initialisation=False) < 0.05


@pytest.mark.slow
def test_pytorchs_own_initialisation_does_not() -> None:
    assert trained_kl(default_initialisation=True) > 0.2

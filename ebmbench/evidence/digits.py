"""How energies of `digits` are trained for a claim: the settings of suites/defaults.yaml, which work there."""

from ebmbench.core.sections import Training
from ebmbench.data import digits
from ebmbench.evidence.bench import Bench, Data
from ebmbench.methods import cd, mle
from ebmbench.models import mlp
from ebmbench.samplers import langevin

MODEL = mlp.Settings(width=256, layers=2, gain=1.4, bias=0.1)
TRAINING = Training(budget=3_000_000, batch_size=64, ema=0.99, beta1=0.0, data_noise=0.03)
SAMPLER = langevin.Settings(steps=20, step_size=1.0, noise_std=0.01, box=1.0)
MLE = mle.Settings(learning_rate=1e-3, sampler=SAMPLER, buffer=2000, energy_penalty=0.01)
CD = cd.Settings(learning_rate=1e-3, sampler=SAMPLER)


def split(bench: Bench) -> Data:
    """All 1297 images to train and 500 to test."""
    return bench.data(digits, train=1297, test=500)

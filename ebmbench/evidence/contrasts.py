"""Maximum likelihood and contrastive divergence on digits, with the settings of suites/defaults.yaml."""

from ebmbench.evidence.digits import SAMPLER
from ebmbench.methods import cd, mle

MLE = mle.Settings(learning_rate=1e-3, sampler=SAMPLER, buffer=2000, energy_penalty=0.01)
CD = cd.Settings(learning_rate=1e-3, sampler=SAMPLER)

"""Learned Stein discrepancy, a lower bound of the Fisher divergence E_data‖s − s_data‖² from test data alone.

With s = −∇E, a critic f is trained on one half of the test data to make

    S = E_data[sᵀf + tr ∇f − λ‖f‖²],   λ = ¼,

as large as it can; S is then measured on the other half. The best critic is f = (s − s_data)/2λ, with which S is the
Fisher divergence over 4λ, here the divergence itself. Any other critic gives less, so a small S may also be a critic
that has missed what is wrong. Of the truth it is 0, or a little below where the critic fitted chance. With few events
in many dimensions no critic may be better than none, which is 0 too; the protocol says so. It needs neither samples nor
the data's density, and takes a score without an energy. Like `fisher` it is blind where there are no data, and of a
model with noise levels it is the score of the narrowest. In units of the data's deviation (S × scale²).

Grathwohl et al. train the critic on data and evaluate it without the penalty; with it S has a meaning of its own. The
critic is a linear map and a perceptron, always of the same size, weights to begin with, and number of Adam steps.
"""

import math
from copy import deepcopy

import torch
from torch import Tensor

from ebmbench.core.critic import Critic, field_and_trace, signs, stein_discrepancy, stein_terms
from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Grathwohl et al., Learning the Stein Discrepancy for Training and Evaluating EBMs without Sampling, ICML 2020"
YEAR = 2020
LINK = "https://arxiv.org/abs/2002.05616"
DIRECTION = "lower"
NEEDS = ("energy",)
PENALTY = 0.25  # λ: then the bound is of the Fisher divergence itself
WIDTH, STEPS, BATCH, BETWEEN, RATE = 64, 600, 256, 20, 5e-3  # of the critic, and of Adam, whose rate falls to zero
FEWEST = 10  # events in each half
EXACT = 8  # coordinates up to which the trace is measured exactly


def compute(e: Evaluation) -> Value:
    """On the half of the test data that the critic has not seen; the error is over its events."""
    if e.facts.binary:
        raise Unavailable("binary data have no score, which the discrepancy is made of")
    count, scale = len(e.test) // 2, e.facts.scale
    if count < FEWEST:
        raise Unavailable(f"needs {2 * FEWEST} test events, has {len(e.test)}")
    x = e.test[torch.randperm(len(e.test), generator=stream(0, "stein", "halves"))].double()
    s = (scale * e.score(x)).flatten(1).float()
    z = ((x.flatten(1) - torch.tensor(e.facts.mean)) / scale).float()
    if not torch.isfinite(s).all():
        raise Unavailable("the model's score is not finite at the test data")
    terms = measure(train(z[:count], s[:count]), z[count:], s[count:])
    found = "" if terms.any() else "; no critic was better than none"
    protocol = f"{len(terms)} test events, critic linear + {WIDTH}-{WIDTH}, {STEPS} steps on the other {count}{found}"
    return Value(float(terms.mean()), float(terms.std()) / math.sqrt(len(terms)), len(terms), protocol)


def train(z: Tensor, s: Tensor) -> Critic:
    """A critic of the scores s at z, `(N, d)` each; the last quarter decides after how many steps it was best."""
    kept = len(z) - len(z) // 4
    critic = Critic(z.shape[1], WIDTH)
    critic.initialise(stream(0, "stein", "weights"))
    optimiser = torch.optim.Adam(critic.parameters(), lr=RATE, maximize=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    best, weights = 0.0, deepcopy(critic.state_dict())  # it starts at zero, and so does S
    for step in range(STEPS):
        index = torch.randint(kept, (BATCH,), generator=stream(0, "stein", "batch", step))
        optimiser.zero_grad()
        found = field_and_trace(critic, z[index], signs(z[index], stream(0, "stein", "directions", step)))
        stein_discrepancy(s[index], *found, PENALTY).backward()
        optimiser.step()
        schedule.step()
        if (step + 1) % BETWEEN == 0 and (reached := float(measure(critic, z[kept:], s[kept:]).mean())) > best:
            best, weights = reached, deepcopy(critic.state_dict())
    critic.load_state_dict(weights)
    return critic.requires_grad_(False)


def measure(critic: Critic, z: Tensor, s: Tensor) -> Tensor:
    """What each event of a test adds to S, `(N,)` in float64; the trace exact, or by one direction for each event."""
    if z.shape[1] > EXACT:
        f, trace = field_and_trace(critic, z, signs(z, stream(0, "stein", "test")))
    else:
        parts = [field_and_trace(critic, z, axis.expand_as(z)) for axis in torch.eye(z.shape[1])]
        f, trace = parts[0][0], torch.stack([along for _, along in parts]).sum(0)
    return stein_terms(s.double(), f.detach().double(), trace.detach().double(), PENALTY)

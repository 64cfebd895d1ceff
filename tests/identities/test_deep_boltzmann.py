"""Boltzmann machines with two hidden layers against enumeration: bounds, sweeps, stages and gradients."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.core.binary import index_of, states
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Table
from ebmbench.models import dbm, dbn
from tests.conftest import binary_facts
from tests.identities.machines import normal


def deep(kind: Any, stage: int = 1, seed: int = 0) -> Any:
    more = {"top": 3} if kind is dbm else {}
    model = (
        kind.Model(kind.Settings(hidden=3, greedy=0.5, **more), binary_facts(4)).initialise(stream(seed, "w")).double()
    )
    if stage:
        model.follow(0.5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * normal(*parameter.shape, seed=seed)
    return model


def exact_joint(model: Any) -> Tensor:
    """log of the unnormalised p(v, h¹) of all states, `(2^V, 2^H)`, written out from the definitions."""
    v, h = states(4), states(3)
    with torch.no_grad():
        if isinstance(model, dbm.Model):
            top = states(3)
            inner = v @ model.visible_bias
            both = h @ model.top_weight @ top.T + top @ model.top_bias
            return inner[:, None] + v @ model.weight @ h.T + h @ model.hidden_bias + both.logsumexp(1)
        inputs = h @ model.weight.T + model.visible_bias
        down = (v[:, None] * inputs - inputs.exp().log1p()).sum(-1)
        top = states(4)
        both = h @ model.top_weight @ top.T + top @ model.top_bias
        return down + (h @ model.middle_bias + both.logsumexp(1))


@pytest.mark.parametrize("kind", [dbn, dbm])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bound_of_a_deep_machine_is_below_its_log_likelihood(kind: Any, seed: int) -> None:
    model = deep(kind, seed=seed)
    joint = exact_joint(model)
    assert model.log_partition() == pytest.approx(float(joint.logsumexp((0, 1))), abs=1e-11)
    exact = joint.logsumexp(1)
    with torch.no_grad():
        gap = exact + model(states(4))
    assert gap.min() > -1e-12
    assert gap.mean() < 1.5
    if kind is dbn:
        draws = torch.stack([model.sampled_bound(states(4), stream(i, "bound")) for i in range(4000)])
        errors = draws.std(0) / math.sqrt(len(draws))
        assert (exact - draws.mean(0) > -5 * errors).all()
        assert float((exact - draws.mean(0)).mean()) < float(gap.mean())


@pytest.mark.parametrize("kind", [dbn, dbm])
@pytest.mark.parametrize("stage", [0, 1])
def test_sweeps_of_a_deep_machine_keep_the_exact_frequencies(kind: Any, stage: int) -> None:
    """χ² of at most 128 degrees of freedom: 190 has probability 3·10⁻⁴. Rows are (v, h¹)."""
    model, count = deep(kind, stage), 60_000
    if stage:
        joint = exact_joint(model)
    else:
        v, h = states(4), states(3)
        with torch.no_grad():
            joint = (v @ model.visible_bias)[:, None] + h @ model.hidden_bias + v @ model.weight @ h.T
    table = joint.T.flatten().softmax(0)  # the index of a row: v is the lower bits
    x = Table(table.log(), [7]).sample(count, stream(0, "starts")).double()
    for step in range(3):
        x = model.gibbs(x, stream(step, "sweep"))
    seen, expected = index_of(x).bincount(minlength=128).double(), count * table
    rare = expected < 5  # these count as one
    seen, expected = (torch.cat([part[~rare], part[rare].sum()[None]]) for part in (seen, expected))
    assert float(((seen - expected).square() / expected).sum()) < 190


@pytest.mark.parametrize("kind", [dbn, dbm])
def test_the_second_layer_begins_as_the_first_machine(kind: Any) -> None:
    """The log-likelihood does not change when it is put on top, but for the small weights of a dbm."""
    model = deep(kind, stage=0)
    with torch.no_grad():
        if kind is dbm:
            model.top_weight.mul_(1e-4)
            model.top_bias.zero_()
        before = -model(states(4)) - model.log_partition()
        model.follow(0.4)
        assert int(model.stage) == 0
        model.follow(0.5)
        assert int(model.stage) == 1
        joint = exact_joint(model)
        after = joint.logsumexp(1) - joint.logsumexp((0, 1))
    torch.testing.assert_close(after, before, rtol=0, atol=1e-6 if kind is dbm else 1e-11)


@pytest.mark.parametrize("kind", [dbn, dbm])
def test_the_contrast_with_rows_is_the_gradient_of_the_bound(kind: Any) -> None:
    """Negatives are all states of h¹, each as often as it is likely; finite differences of the bound agree."""
    model, x = deep(kind), states(4)[[3, 6]]
    rows = torch.cat([torch.zeros(8, 4).double(), states(3)], dim=1)
    parameters = dict(model.named_parameters())
    if kind is dbn:
        parameters = {name: p for name, p in parameters.items() if name.startswith(("top", "middle"))}
    else:
        model.rounds = 200  # the gradient takes the mean field to be at its fixed point
    with torch.no_grad():
        weights = (-model(rows)).softmax(0)
    loss = model(x).mean() - (weights * model(rows)).sum()
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    for parameter, gradient in zip(parameters.values(), gradients, strict=True):
        flat, step, found = parameter.data.view(-1), 1e-6, []
        for shift in (step, -2 * step):
            flat[1] += shift
            with torch.no_grad():
                found.append(float(model(x).mean()) + model.log_partition())
        flat[1] += step
        assert (found[0] - found[1]) / (2 * step) == pytest.approx(float(gradient.flatten()[1]), abs=1e-7)

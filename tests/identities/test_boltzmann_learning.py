"""What Boltzmann machines learn, against enumeration: gradients, centring, and the optima of methods without chains."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.core.binary import index_of, states
from ebmbench.core.streams import stream
from ebmbench.data import ising
from ebmbench.methods.pseudo_likelihood import pseudo_likelihood
from ebmbench.methods.ratio_matching import ratio_matching
from ebmbench.metrics.coupling_error import couplings
from ebmbench.models import rbm
from ebmbench.models.boltzmann import Couplings
from ebmbench.models.common.bipartite import Bipartite
from tests.conftest import binary_facts
from tests.identities.machines import machine, normal, pairs


def small_rbm(centred: bool, hidden: int = 3, seed: int = 0) -> rbm.Model:
    model = rbm.Model(rbm.Settings(hidden=hidden, centred=centred, shift=0.3), binary_facts(5))
    model = model.initialise(stream(seed, "weights")).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * normal(*parameter.shape, seed=seed)
    return model


def log_likelihood(model: Any, x: Tensor) -> Tensor:
    """Mean log-likelihood by enumeration, in the graph of the weights."""
    every = states(x.shape[1])
    return -model(x).mean() - (-model(every)).logsumexp(0)


@pytest.mark.parametrize("centred", [False, True])
def test_the_contrast_with_exact_samples_is_the_gradient_of_the_log_likelihood(centred: bool) -> None:
    """Negatives are all states, each weighted by its probability; and by finite differences."""
    model, x = small_rbm(centred), states(5)[[3, 7, 21, 21]]
    every, parameters = states(5), list(model.parameters())
    with torch.no_grad():
        weights = (-model(every)).softmax(0)
    weighted = model(x).mean() - (weights * model(every)).sum()
    found = torch.autograd.grad(weighted, parameters)
    exact = torch.autograd.grad(-log_likelihood(model, x), parameters)
    for one, other in zip(found, exact, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    for parameter, gradient in zip(parameters, exact, strict=True):
        flat, step = parameter.data.view(-1), 1e-6
        with torch.no_grad():
            flat[1] += step
            above = float(log_likelihood(model, x))
            flat[1] -= 2 * step
            below = float(log_likelihood(model, x))
            flat[1] += step
        assert -(above - below) / (2 * step) == pytest.approx(float(gradient.flatten()[1]), abs=1e-8)


def test_offsets_change_no_free_energy_but_the_gradient() -> None:
    """The centred machine is a plain one with other biases, and moving λ does not move its energies."""
    model = small_rbm(centred=True)
    energies = model(states(5)).detach()
    plain = model.fixed()
    torch.testing.assert_close(plain(states(5)), energies, rtol=0, atol=1e-12)
    before = model.hidden_offset.clone()
    model.activity.fill_(0.9)
    for _ in range(3):
        model.renew()
    assert (model.hidden_offset - before).abs().min() > 0.1
    torch.testing.assert_close(model(states(5)).detach(), energies, rtol=0, atol=1e-12)
    uncentred = small_rbm(centred=False)
    with torch.no_grad():
        for own, other in zip((uncentred.weight, uncentred.visible_bias, uncentred.hidden_bias), plain, strict=True):
            own.copy_(other)
    torch.testing.assert_close(uncentred(states(5)).detach(), energies, rtol=0, atol=1e-12)
    x = states(5)[[3, 7]]
    ours, theirs = (torch.autograd.grad(log_likelihood(m, x), m.weight)[0] for m in (model, uncentred))
    assert (ours - theirs).abs().max() > 1e-2


def test_centring_makes_learning_blind_to_which_state_is_called_one() -> None:
    """One gradient step on flipped data gives the flipped machine: exactly if centred, not at all if plain."""
    x, every = states(5)[[1, 2, 3, 9]], states(5)
    gaps = {}
    for centred in (True, False):
        ends = []
        for flip in (False, True):
            data, start = (1 - x if flip else x), machine(5, 3)
            if flip:  # the same distribution of 1 − v
                start = Bipartite(-start.weight, -start.visible_bias, start.hidden_bias + start.weight.sum(0))
            mu = data.mean(0) if centred else torch.zeros(5).double()
            lam = start.hidden(data).mean(0) if centred else torch.zeros(3).double()
            weight, b, c = (part.clone().requires_grad_() for part in start)
            with torch.no_grad():
                b += weight @ lam
                c += mu @ weight
            m = Bipartite(weight, b - weight @ lam, c - mu @ weight)
            gradients = torch.autograd.grad(log_likelihood(m, data), (weight, b, c))
            w, b, c = (part + 0.1 * g for part, g in zip((weight, b, c), gradients, strict=True))
            moved = Bipartite(w, b - w @ lam, c - mu @ w)
            ends.append((-moved(1 - every if flip else every)).log_softmax(0).detach())
        gaps[centred] = float((ends[0] - ends[1]).abs().max())
    assert gaps[True] < 1e-12
    assert gaps[False] > 1e-2


@pytest.mark.parametrize("objective", [pseudo_likelihood, ratio_matching])
def test_the_optimum_without_chains_is_at_the_truth(objective: Any) -> None:
    """Over all states, each as often as it is likely: the gradient is zero at the true couplings, and only there."""
    truth, every = pairs(5), states(5)
    weights = (-truth(every)).softmax(0)
    units = torch.arange(5).expand(1, 5)

    def loss(m: Couplings) -> Tensor:
        return sum(w * objective(m, v[None], units) for w, v in zip(weights, every, strict=True))

    for shift, small in ((0.0, True), (0.2, False)):
        coupling = (truth.couplings + shift * (1 - torch.eye(5))).clone().requires_grad_()
        bias = truth.bias.clone().requires_grad_()
        gradients = torch.autograd.grad(loss(Couplings(coupling, bias)), (coupling, bias))
        size = max(float((g + g.T if g.dim() == 2 else g).abs().max()) for g in gradients)
        assert (size < 1e-12) == small, size


def test_a_subset_of_the_units_is_right_on_average() -> None:
    m, x = machine(5, 3), states(5)[[3, 7]]
    every = torch.arange(5)
    whole = pseudo_likelihood(m, x, every.expand(2, 5))
    single = torch.stack([pseudo_likelihood(m, x, every[i].expand(2, 1)) for i in range(5)]).mean()
    torch.testing.assert_close(single, whole, rtol=0, atol=1e-12)


def test_pseudo_likelihood_is_the_product_of_the_enumerated_conditionals() -> None:
    m, x = pairs(4), states(4)[[6]]
    p = (-m(states(4))).softmax(0)
    expected = 0.0
    for unit in range(4):
        other = x.clone()
        other[:, unit] = 1 - other[:, unit]
        own, flipped = float(p[index_of(x)]), float(p[index_of(other)])
        expected -= math.log(own / (own + flipped))
    assert float(pseudo_likelihood(m, x, torch.arange(4)[None])) == pytest.approx(expected, abs=1e-12)


def test_couplings_are_those_of_the_spins() -> None:
    density = ising.density()
    x = density.sample(20, stream(0, "events")).double()
    found = couplings(lambda v: -density.log_prob(v), x)
    side = torch.arange(16)
    row, column = torch.triu_indices(16, 16, 1)
    near = ((side[row] // 4 - side[column] // 4).abs() + (side[row] % 4 - side[column] % 4).abs()) == 1
    torch.testing.assert_close(found, 0.4 * near.double(), rtol=0, atol=1e-12)
    assert int(near.sum()) == 24
    own = pairs(6)
    row, column = torch.triu_indices(6, 6, 1)
    torch.testing.assert_close(couplings(own, states(6)[:30]), own.couplings[row, column] / 4, rtol=0, atol=1e-12)

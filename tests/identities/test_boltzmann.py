"""Boltzmann machines against enumeration: free energies, sweeps, gradients, normalisers, and what methods aim at."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.sections import Annealing
from ebmbench.core.binary import index_of, log_one_plus_exp, states
from ebmbench.core.streams import stream
from ebmbench.data import ising
from ebmbench.data.common.densities import Table
from ebmbench.methods.pseudo_likelihood import pseudo_likelihood
from ebmbench.methods.ratio_matching import ratio_matching
from ebmbench.metrics.common.annealing import anneal
from ebmbench.metrics.common.annealing_binary import BinaryPath, Coins
from ebmbench.metrics.coupling_error import couplings
from ebmbench.models import boltzmann, rbm
from ebmbench.models.boltzmann import Couplings
from ebmbench.models.common.bipartite import Bipartite
from ebmbench.samplers import block_gibbs, tempering
from tests.conftest import binary_facts


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=stream(seed, "boltzmann", *shape), dtype=torch.float64)


def machine(visible: int = 4, hidden: int = 3, seed: int = 0) -> Bipartite:
    return Bipartite(normal(visible, hidden, seed=seed), normal(visible, seed=seed), normal(hidden, seed=seed))


def pairs(units: int = 4, seed: int = 0) -> Couplings:
    upper = normal(units, units, seed=seed).triu(1)
    return Couplings(upper + upper.mT, normal(units, seed=seed))


def joint_energies(m: Bipartite, beta: float = 1.0) -> Tensor:
    """βE(v, h) of all states, `(2^V, 2^H)`."""
    v, h = states(len(m.visible_bias)), states(len(m.hidden_bias))
    return -beta * ((v @ m.visible_bias)[:, None] + h @ m.hidden_bias + v @ m.weight @ h.T)


def small_rbm(centred: bool, hidden: int = 3, seed: int = 0) -> rbm.Model:
    model = rbm.Model(rbm.Settings(hidden=hidden, centred=centred, shift=0.3), binary_facts(5))
    model = model.initialise(stream(seed, "weights")).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * normal(*parameter.shape, seed=seed)
    return model


@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_the_free_energy_is_the_sum_over_all_hidden_states(beta: float) -> None:
    m = machine(6, 5)
    brute = -(-joint_energies(m, beta)).logsumexp(1)
    torch.testing.assert_close(m.free_energy(states(6), beta), brute, rtol=0, atol=1e-12)


def test_the_free_energy_is_right_where_a_softplus_is_cut_off() -> None:
    a = torch.tensor([25.0, -25.0, 45.0], dtype=torch.float64)
    expected = torch.logaddexp(a, torch.zeros_like(a))
    torch.testing.assert_close(log_one_plus_exp(a), expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("sizes", [(6, 5), (4, 7), (12, 2)])
def test_log_z_is_the_sum_over_all_states(sizes: tuple[int, int]) -> None:
    m = machine(*sizes)
    assert m.log_partition() == pytest.approx(float((-joint_energies(m)).logsumexp((0, 1))), abs=1e-11)
    b = pairs(6)
    assert b.log_partition() == pytest.approx(float((-b(states(6))).logsumexp(0)), abs=1e-11)
    assert machine(30, 25).log_partition() is None




def transition_matrix(m: Bipartite, beta: float) -> Tensor:
    """P of one sweep on v, by enumeration of h: Σ_h p(v′ | h) p(h | v)."""
    v, h = states(len(m.visible_bias)), states(len(m.hidden_bias))
    up = bernoulli_table(m.hidden(v, beta), h)
    return up @ bernoulli_table(m.visible(h, beta), v)


def bernoulli_table(p: Tensor, outcomes: Tensor) -> Tensor:
    """Probability of each outcome `(K, n)` for each row of independent units `(N, n)`, `(N, K)`."""
    return (p.log() @ outcomes.T + (1 - p).log() @ (1 - outcomes).T).exp()


@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_a_sweep_leaves_the_table_in_place_and_is_reversible(beta: float) -> None:
    m = machine()
    p = (-m.free_energy(states(4), beta)).softmax(0)
    matrix = transition_matrix(m, beta)
    torch.testing.assert_close(p @ matrix, p, rtol=0, atol=1e-10)
    flow = p[:, None] * matrix
    torch.testing.assert_close(flow, flow.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("beta", "field"), [(1.0, 0.0), (0.4, 0.7)])
@pytest.mark.parametrize("kind", [machine, pairs])
def test_drawn_sweeps_keep_the_exact_frequencies(kind: Any, beta: float, field: float) -> None:
    """χ² of 15 degrees of freedom: 45 has probability 10⁻⁴. The draws are those of the sampler itself."""
    m, count = kind(), 40_000
    table = (field * states(4).sum(1) - m.free_energy(states(4), beta)).softmax(0)
    x = Table(table.log(), [4]).sample(count, stream(0, "starts")).double()
    for step in range(3):
        x = m.gibbs(x, stream(step, "sweep"), beta, field)
    seen = index_of(x).bincount(minlength=16)
    assert float(((seen - count * table).square() / (count * table)).sum()) < 45


def test_tempering_keeps_the_exact_frequencies_and_crosses_barriers() -> None:
    one, count = torch.ones(4, 2, dtype=torch.float64), 4000
    m = Bipartite(6 * one, -6 * one[:, 0], -12 * one[0])
    table = (-m.free_energy(states(4))).softmax(0)
    starts = torch.zeros(count, 4, dtype=torch.float64)
    plain = block_gibbs.Settings(steps=30).run(m, starts, stream(0, "plain")).x
    chain = tempering.Settings(steps=30, levels=6, hottest=0.05, warmup=20).run(m, starts, stream(0, "tempered"))
    assert float(plain.mean()) < 0.05
    seen = index_of(chain.x).bincount(minlength=16) / count
    assert (seen - table).abs().max() < 0.05
    assert 0.1 < float(chain.diagnostics["swap_acceptance"]) < 1


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
        assert -(above - below) / (2 * step) == pytest.approx(float(gradient.view(-1)[1]), abs=1e-8)


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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["rbm", "boltzmann"])
def test_the_ais_bracket_holds_the_enumerated_log_z(kind: str, seed: int) -> None:
    m = machine(10, 6, seed) if kind == "rbm" else pairs(10, seed)
    exact = m.log_partition()
    samples = Table(-m(states(10)), [10]).sample(400, stream(seed, "samples"))
    base = Coins([10], samples.double().mean(0).clamp(0.01, 0.99).logit())
    found = anneal(m, base, Annealing(chains=200, temperatures=200, settle=50), samples)
    assert found.reverse is not None
    assert not found.crossed
    assert found.forward.log_z - 4 * found.forward.error <= exact <= found.reverse.log_z + 4 * found.reverse.error
    assert found.gap[0] < 0.3


def test_annealing_begins_at_a_distribution_and_ends_at_the_machine() -> None:
    m = machine()
    path = BinaryPath(m, Coins([4], normal(4)))
    state = path.at(states(4))
    assert float(path.log_density(state, 0.0).logsumexp(0)) == pytest.approx(0, abs=1e-12)
    torch.testing.assert_close(path.log_density(state, 1.0), -m(states(4)), rtol=0, atol=1e-12)
    numeric = (path.log_density(state, 0.301) - path.log_density(state, 0.299)) / 0.002
    torch.testing.assert_close(path.slope(state, 0.3), numeric, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("objective", [pseudo_likelihood, ratio_matching])
def test_the_optimum_without_chains_is_at_the_truth(objective: Any) -> None:
    """Over all states, each as often as it is likely: the gradient at the true couplings is zero, beside them it is not."""
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


def test_a_boltzmann_machine_without_hidden_units_can_be_the_ising_grid() -> None:
    model = boltzmann.Model(boltzmann.Settings(), binary_facts(1, 4, 4)).double()
    spins = torch.zeros(16, 16, dtype=torch.float64)
    for site in range(16):
        if site % 4 < 3:
            spins[site, site + 1] = 0.4
        if site < 12:
            spins[site, site + 4] = 0.4
    row, column = torch.triu_indices(16, 16, 1)
    with torch.no_grad():
        model.pairs.copy_(4 * spins[row, column])
        model.bias.copy_(-2 * (spins + spins.T).sum(1))
    log_p = -model(states(16).reshape(-1, 1, 4, 4)).detach() - model.log_partition()
    torch.testing.assert_close(log_p, ising.density().log_p, rtol=0, atol=1e-11)

"""Boltzmann machines against enumeration: free energies, normalisers, sweeps and annealing."""

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
from ebmbench.metrics.common.annealing import anneal
from ebmbench.metrics.common.annealing_binary import BinaryPath, Coins
from ebmbench.models import boltzmann, gaussian_rbm
from ebmbench.models.common.bipartite import Bipartite
from ebmbench.samplers import block_gibbs, tempering
from tests.conftest import binary_facts
from tests.identities.machines import machine, normal, pairs


def joint_energies(m: Bipartite, beta: float = 1.0) -> Tensor:
    """βE(v, h) of all states, `(2^V, 2^H)`."""
    v, h = states(len(m.visible_bias)), states(len(m.hidden_bias))
    return -beta * ((v @ m.visible_bias)[:, None] + h @ m.hidden_bias + v @ m.weight @ h.T)


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


def gaussian_machine() -> gaussian_rbm.GaussianMachine:
    return gaussian_rbm.GaussianMachine(normal(2, 3), normal(2), normal(3), torch.tensor([0.7, 1.3]).double())


def test_a_gaussian_machine_is_a_mixture_whose_normaliser_is_known() -> None:
    m, h = gaussian_machine(), states(3)
    x = 2 * normal(50, 2, seed=1)
    joint = ((x[:, None] - m.visible_bias) / m.sigma).square().sum(-1) / 2
    joint = joint - (x / m.sigma) @ m.weight @ h.T - h @ m.hidden_bias
    torch.testing.assert_close(m(x), -(-joint).logsumexp(1), rtol=0, atol=1e-12)
    axis = torch.linspace(-25, 25, 1001, dtype=torch.float64)
    log_z = float((-m(torch.cartesian_prod(axis, axis))).logsumexp(0)) + 2 * math.log(0.05)
    assert m.log_partition() == pytest.approx(log_z, abs=1e-9)
    # p(v | h): the mean that the sweep draws around is where the joint energy is least.
    means = m.visible_mean(h)
    torch.testing.assert_close(means, m.visible_bias + m.sigma * (h @ m.weight.T), rtol=0, atol=1e-12)
    slope = (means - m.visible_bias) / m.sigma**2 - (h @ m.weight.T) / m.sigma
    assert slope.abs().max() < 1e-12


def test_sweeps_of_a_gaussian_machine_keep_its_moments() -> None:
    m, h = gaussian_machine(), states(3)
    shift = h @ m.weight.T
    log_w = h @ m.hidden_bias + shift @ (m.visible_bias / m.sigma) + shift.square().sum(1) / 2
    w, means = log_w.softmax(0), m.visible_mean(h)
    mean = w @ means
    variance = w @ (means - mean).square() + m.sigma.square()
    which = torch.multinomial(w, 40_000, replacement=True, generator=stream(0, "component"))
    x = means[which] + m.sigma * torch.randn(40_000, 2, generator=stream(1, "component"), dtype=torch.float64)
    for step in range(3):
        x = m.gibbs(x, stream(step, "sweep"))
    error = (variance / len(x)).sqrt()
    assert ((x.mean(0) - mean).abs() < 4 * error).all()
    assert ((x.var(0) / variance - 1).abs() < 0.05).all()

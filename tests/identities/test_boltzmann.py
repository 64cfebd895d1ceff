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
from ebmbench.models import boltzmann, dbm, dbn, gaussian_rbm, rbm
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

"""Methods with a second player: what must hold exactly, of the flow, of each objective, and of both players' moves."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ebmbench.config.registry import load
from ebmbench.config.sections import Training
from ebmbench.core.contrastive import contrastive
from ebmbench.core.critic import field_and_trace, stein_discrepancy
from ebmbench.core.dataset import Facts
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from ebmbench.methods.ace import mix
from ebmbench.methods.common.flow_noise import Flow, Noise, contrast_with, fit_base
from ebmbench.methods.maximin import free_energy
from ebmbench.methods.nce import noise_contrastive
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient, network
from tests.identities.quadrature import line, normal

FACTS = replace(gaussian_facts(2), mean=[0.5, -0.3], covariance=[[1.0, 0.4], [0.4, 0.7]])


def bent_flow(facts: Facts = FACTS, couplings: int = 4) -> Flow:
    """A flow in float64 that is far from its first Gaussian."""
    flow = Flow(facts, couplings, 8)
    flow.initialise(stream(0, "flow"))
    for coupling in flow.couplings:
        nn.init.normal_(coupling.reader.layers[-1].weight, std=0.1, generator=stream(1, "bend"))
    return exact(flow).requires_grad_(False)


def exact(flow: Flow) -> Flow:
    """The same in float64, with an inverse that is one to the last digit."""
    flow.double().inverse.copy_(torch.linalg.inv(flow.root))
    return flow


def square(reach: float, count: int) -> tuple[Tensor, float]:
    nodes, distance = line(reach, count)
    return torch.cartesian_prod(nodes[:, 0], nodes[:, 0]), distance**2


def test_a_flow_knows_the_density_of_its_own_samples_and_that_density_is_one() -> None:
    flow = bent_flow()
    y, log_q = flow(events(100, 2))
    torch.testing.assert_close(flow.log_prob(y), log_q, rtol=0, atol=1e-10)
    nodes, area = square(16.0, 401)
    assert (flow.log_prob(nodes).exp().sum() * area).item() == pytest.approx(1, abs=1e-6)


def test_its_density_is_that_of_the_change_of_variables() -> None:
    """log N(z) − log|det ∂y/∂z|, the derivative by autograd."""
    flow, z = bent_flow(), events(5, 2)
    jacobian = torch.vmap(torch.func.jacrev(lambda one: flow(one[None])[0][0]))(z)
    expected = -0.5 * z.square().sum(1) - math.log(2 * math.pi) - torch.linalg.det(jacobian).abs().log()
    torch.testing.assert_close(flow(z)[1], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_starts_as_the_gaussian_of_its_base(d: int) -> None:
    flow = Flow(gaussian_facts(d, 0.7), 4, 8)
    flow.initialise(stream(0, "flow"))
    x = events(50, d).float()
    torch.testing.assert_close(flow.log_prob(x), fit_base(gaussian_facts(d, 0.7)).log_prob(x), rtol=0, atol=1e-5)


def method_of(name: str, **settings: Any) -> Any:
    """A method with a flow that is no Gaussian any more, in float64."""
    module = load("methods", name)
    made = module.Method(module.Settings(couplings=4, adversary_width=8, **settings), FACTS)
    made.initialise(draws(0, "start"), network(2).float()).double()
    exact(made.flow).load_state_dict(bent_flow().state_dict())
    return made


@pytest.mark.parametrize("count", [16, 15])
@pytest.mark.parametrize("name", ["fce", "ace"])
def test_with_the_flow_frozen_it_is_nce(name: str, count: int) -> None:
    """The loss that `forward` gives, and its gradients, with noise of the same events and their density by hand."""
    made, x, energy = method_of(name), events(count, 2), network(2)
    made.adversary.updates = 1
    made.adversary.rate = 0.0  # it looks, and does not move
    if name == "ace":
        made.base = type(made.base)(made.flow.mean, made.flow.root @ made.flow.root.mT)
    before = [weight.clone() for weight in made.flow.parameters()]
    loss = made(Meter(energy), x, draws(0, 0))
    assert all(torch.equal(a, b) for a, b in zip(before, made.flow.parameters(), strict=True))
    events_of_flow = count if name == "fce" else (count + 1) // 2
    z = torch.randn(events_of_flow, 2, generator=draws(0, 0)("noise"), dtype=torch.float64)
    noise, log_noise = made.flow(z)[0], made.flow.log_prob
    if name == "ace":
        noise = torch.cat([made.base.draw(events_of_flow, draws(0, 0)("base")), noise])

        def log_noise(x: Tensor) -> Tensor:
            return (0.5 * made.base.log_prob(x).exp() + 0.5 * made.flow.log_prob(x).exp()).log()

    expected = noise_contrastive(energy, made.c, x, noise, log_noise)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-10)
    torch.testing.assert_close(gradient(loss, energy), gradient(expected, energy), rtol=0, atol=1e-10)
    ours, theirs = (torch.autograd.grad(each, made.c)[0] for each in (loss, expected))
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-10)


def test_a_mixture_of_equals_is_either() -> None:
    log_q = events(5, 1)[:, 0]
    torch.testing.assert_close(mix(log_q, log_q), log_q, rtol=0, atol=1e-12)


def test_at_the_best_energy_the_flows_objective_is_a_jensen_shannon_divergence() -> None:
    """2 log 2 − 2 JS(data, q) with expectations by quadrature: what the flow raises is how near it is to the data."""
    nodes, distance = line(12.0, 1201)
    log_data, log_q = (
        -0.5 * (nodes[:, 0] - m).square() / v - 0.5 * math.log(2 * math.pi * v) for m, v in ((1, 2), (0, 1))
    )
    data, q = log_data.exp() * distance, log_q.exp() * distance

    def one(x: Tensor, y: Tensor, log_x: Tensor, log_y: Tensor, energies: Tensor) -> Tensor:
        return contrast_with(lambda _: energies, torch.zeros(()), x[None], Noise(y[None], log_x[None], log_y[None]))

    # Event i as datum and as noise: softplus(−G(xᵢ)) and softplus(G(xᵢ)), taken apart by a half that costs nothing.
    zero, sure = nodes[0], torch.tensor(1e4, dtype=torch.float64)
    on_data = torch.vmap(lambda x, lq, ld: one(x, zero, lq, sure, torch.stack([-ld, sure])))(nodes, log_q, log_data)
    on_noise = torch.vmap(lambda y, lq, ld: one(zero, y, -sure, lq, torch.stack([-sure, -ld])))(nodes, log_q, log_data)
    middle = torch.logaddexp(log_data, log_q) - math.log(2)
    twice_js = (data * (log_data - middle)).sum() + (q * (log_q - middle)).sum()
    assert (data @ on_data + q @ on_noise).item() == pytest.approx(2 * math.log(2) - twice_js.item(), abs=1e-8)


@pytest.mark.parametrize("name", ["fce", "ace", "maximin", "stein"])
def test_the_adversary_moves_its_objective_its_own_way_and_the_energy_stays(name: str) -> None:
    """After many updates on one batch with the same numbers the objective is higher, or for maximin lower."""
    module = load("methods", name)
    sizes = {} if name == "stein" else {"couplings": 4}
    made = module.Method(module.Settings(adversary_rate=1e-3, adversary_updates=1, adversary_width=8, **sizes), FACTS)
    energy = network(2).float()
    made.initialise(draws(0, "start"), energy)
    before, x = [weight.clone() for weight in energy.parameters()], events(64, 2).float()
    found = []
    for _ in range(30):
        made(Meter(energy), x, draws(0, 0))
        found.append(made.last["adversary_loss"].item())
    assert (found[-1] - found[0]) * (-1 if name == "maximin" else 1) > 1e-3
    assert all(weight.grad is None for weight in (*energy.parameters(), *made.adversary.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(before, energy.parameters(), strict=True))


def test_adams_moves_are_those_of_torch() -> None:
    """Three steps up at a pace of a half, beside torch's Adam on a copy."""
    settings = load("methods", "stein").Settings(adversary_rate=0.02, adversary_updates=1, adversary_width=4)
    made = load("methods", "stein").Method(settings, FACTS).initialise(draws(0, "start"), network(2).float())
    twin = load("methods", "stein").Method(settings, FACTS).initialise(draws(0, "start"), network(2).float())
    theirs = twin.adversary.network.requires_grad_(True)
    optimiser = torch.optim.Adam(theirs.parameters(), lr=0.01, betas=(0.5, 0.999), maximize=True, fused=True)
    x = events(8, 2).float()
    for _ in range(3):
        made.adversary.learn(Meter(network(2)), lambda *_: made.adversary.network(x).sin().sum(), draws(0, 0), 0.5)
        optimiser.zero_grad()
        theirs(x).sin().sum().backward()
        optimiser.step()
    for ours, other in zip(made.adversary.network.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(ours, other, rtol=0, atol=1e-7)


def test_the_bound_of_log_z_holds_at_every_step_of_training() -> None:
    """−F by quadrature over the flow's density, log Z over the plane: their difference is KL(q ‖ p) ≥ 0."""
    module, models = load("methods", "maximin"), load("models", "mlp")
    settings = module.Settings(learning_rate=1e-2, adversary_rate=1e-2, couplings=4, adversary_width=8)
    data = torch.randn(500, 2, generator=stream(0, "data")).sinh()
    facts = Facts.of("sinh", data.numpy(), data.numpy(), licence="", hash="")
    training = Training(budget=10**6, batch_size=64)
    trainer = Trainer(Job("maximin", settings, {}, 0, training, models.Settings(width=8), facts), data)
    nodes, area = square(60.0, 361)
    gaps = []
    for _ in range(40):
        trainer._update()
        with torch.no_grad():
            energies, log_q = (
                trainer.model(nodes.float()).double(),
                trainer.method.flow.log_prob(nodes.float()).double(),
            )
        log_z = (-energies).logsumexp(0) + math.log(area)
        q = log_q.exp() * area
        assert q.sum().item() == pytest.approx(1, abs=2e-2)
        q = q / q.sum()
        gaps.append((log_z + (q * (energies + q.log() - math.log(area)).nan_to_num()).sum()).item())
    assert min(gaps) > 0
    assert gaps[-1] < gaps[0]


class Normal(nn.Module):
    """E(x) = ½ Σ pᵢ(xᵢ − mᵢ)²."""

    def __init__(self, precision: Tensor, mean: Tensor) -> None:
        super().__init__()
        self.precision, self.mean = nn.Parameter(precision), nn.Parameter(mean)

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * (self.precision * (x - self.mean).square()).sum(1)


def test_where_the_flow_is_the_model_the_bound_is_tight_and_the_gradient_that_of_the_likelihood() -> None:
    """The flow's first Gaussian is the model's own; expectations over z by Gauss–Hermite nodes, exact for squares."""
    facts = replace(FACTS, covariance=[[1.0, 0.0], [0.0, 0.6]], scale=math.sqrt(0.8))
    flow = Flow(facts, 4, 8)
    flow.initialise(stream(0, "flow"))
    flow.double()
    # With nodes as events a mean is a plain sum, so each node appears as often as its weight says: 1 : 4 : 1.
    nodes, _ = normal(3, 2)
    z = nodes.repeat_interleave(torch.tensor([1, 4, 1, 4, 16, 4, 1, 4, 1]), 0)
    y, log_q = flow(z)
    variance = (flow.root @ flow.root.mT).diagonal()
    energy = Normal(1 / variance, flow.mean.clone())
    bound = free_energy(energy, y, log_q)
    log_z = 0.5 * (2 * math.pi * variance).log().sum()
    assert bound.item() == pytest.approx(-log_z.item(), abs=1e-10)
    assert torch.cat([g.flatten() for g in torch.autograd.grad(bound, list(flow.parameters()))]).abs().max() < 1e-10
    x = events(20, 2)
    loss, _ = contrastive(energy, x, y.detach())
    likelihood = energy(x).mean() + 0.5 * (2 * math.pi / energy.precision).log().sum()
    torch.testing.assert_close(gradient(loss, energy), gradient(likelihood, energy), rtol=0, atol=1e-10)


@pytest.mark.parametrize("penalty", [0.5, 2.0])
def test_the_best_critic_is_the_difference_of_scores_and_then_the_loss_is_the_fisher_divergence(penalty: float) -> None:
    """A mixture on the line by quadrature; the critic is a table of values on the nodes, with its exact derivative."""
    nodes, _ = line(9.0, 1801)
    x = nodes[:, 0].requires_grad_(True)
    log_data = torch.logaddexp(-0.5 * (x - 1.5).square() / 0.6, math.log(0.4) - 0.5 * (x + 1.5).square() / 0.6)
    weights = torch.softmax(log_data.detach(), 0)
    (s_data,) = torch.autograd.grad(log_data.sum(), x, create_graph=True)
    s = -0.7 * x + 0.3 * torch.cos(x)
    difference = (s - s_data) / (2 * penalty)

    def population(f: Tensor) -> Tensor:
        (slope,) = torch.autograd.grad(f.sum(), x, create_graph=True)
        # The objective is a mean over events: scaled by its weight, each node is one event of many.
        each = torch.vmap(lambda a, b, c: stein_discrepancy(a[None, None], b[None, None], c[None], penalty))
        return weights @ each(s, f, slope)

    fisher = (weights @ (s - s_data).square()).item()
    best = population(difference).item()
    assert best == pytest.approx(fisher / (4 * penalty), abs=1e-8)
    size = torch.ones((), dtype=torch.float64, requires_grad=True)
    for bump in (torch.sin(x), torch.exp(-x.square()), difference):
        (slope,) = torch.autograd.grad(population(difference + (size - 1) * bump), size, retain_graph=True)
        assert abs(slope.item()) < 1e-8  # no direction leads up
        assert population(difference + 0.3 * bump).item() < best - 1e-3


def test_the_gradient_of_the_energy_against_the_best_critic_is_that_of_score_matching() -> None:
    """∂/∂θ mean sᵀf at f = (s − s_data)/2λ is that of the Fisher divergence over 4λ."""
    theta = torch.tensor([0.7, 0.3], dtype=torch.float64, requires_grad=True)
    x, s_data = events(50, 2), -events(50, 2, seed=1)
    s = -theta * x.sinh()
    f = ((s - s_data) / (2 * 0.5)).detach()
    zero = torch.zeros(50, dtype=torch.float64)
    ours = torch.autograd.grad(stein_discrepancy(s, f, zero, 0.5), theta, retain_graph=True)[0]
    theirs = torch.autograd.grad((s - s_data).square().sum(1).mean() / (4 * 0.5), theta)[0]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_the_trace_is_exact_on_average_over_all_signs() -> None:
    critic = load("methods", "stein").Method(load("methods", "stein").Settings(adversary_width=8), gaussian_facts(3))
    field = critic.adversary.network.double()
    for layer in (field.linear, *field.perceptron.layers):
        nn.init.normal_(layer.weight, generator=stream(0, "field"))
        nn.init.zeros_(layer.bias)
    z, signs = events(6, 3), torch.cartesian_prod(*[torch.tensor([-1.0, 1.0]).double()] * 3)
    estimates = torch.stack([field_and_trace(field, z, v.expand(6, 3))[1] for v in signs])
    exact = torch.vmap(torch.func.jacrev(lambda one: field(one[None])[0]))(z).diagonal(dim1=1, dim2=2).sum(1)
    torch.testing.assert_close(estimates.mean(0), exact, rtol=0, atol=1e-10)

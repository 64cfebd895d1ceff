"""Sliced score matching averages to implicit score matching: an equality over all sign vectors, not statistics.

With finite differences it is the same up to O(ε²).
"""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.core.energy import Energy, score_and_curvature, score_through
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, normal, stream
from ebmbench.methods.common.score_matching import Distribution, draw_directions
from ebmbench.methods.fd_ssm import finite_difference_score_matching
from ebmbench.methods.ism import implicit_score_matching
from ebmbench.methods.ssm import Method, Settings, sliced_score_matching
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient, network

FORMS = pytest.mark.parametrize("reduced", [False, True], ids=["plain", "variance reduced"])


def implicit(energy: Energy, x: Tensor) -> Tensor:
    """½‖s‖² + tr ∇s for each event, from a whole Hessian."""

    def single(u: Tensor) -> Tensor:
        return energy(u[None])[0]

    slope = torch.func.grad(single)
    hessian = torch.vmap(torch.func.jacrev(slope))(x)
    return 0.5 * torch.vmap(slope)(x).square().sum(1) - torch.einsum("bii->b", hessian)


def signs(d: int, count: int) -> Tensor:
    """All 2^d sign vectors, the same for each event: `(2^d, count, d)`."""
    table = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=d)), dtype=torch.float64)
    return table[:, None].expand(-1, count, -1)


def per_direction(energy: Energy, x: Tensor, directions: Tensor, reduced: bool) -> Tensor:
    """The loss of each direction of each event alone, `(M, B)`."""
    losses = [
        sliced_score_matching(energy, u[None], v[None, None], reduced).detach()
        for row in directions
        for u, v in zip(x, row, strict=True)
    ]
    return torch.stack(losses).reshape(len(directions), len(x))


@FORMS
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_the_average_over_all_sign_vectors_is_implicit_score_matching(d: int, reduced: bool) -> None:
    energy, x = network(d), events(5, d)
    for u in x.split(1):
        sliced = sliced_score_matching(energy, u, signs(d, 1), reduced)
        torch.testing.assert_close(sliced, implicit(energy, u)[0], rtol=0, atol=1e-12)
    sliced, exact = sliced_score_matching(energy, x, signs(d, 5), reduced), implicit(energy, x).mean()
    torch.testing.assert_close(sliced, exact, rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient(sliced, energy), gradient(exact, energy), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_reduced_form_has_less_variance_over_the_sign_vectors(seed: int) -> None:
    """No theorem, for the two terms of the plain form may cancel; so for the initial weights of the benchmark."""
    energy, x = network(4, seed=seed, gain=3.0), events(4, 4)
    plain, reduced = (per_direction(energy, x, signs(4, 4), form).var(0).mean() for form in (False, True))
    assert 0 < reduced < plain


def test_with_a_diagonal_hessian_the_reduced_form_is_exact_for_each_sign_vector() -> None:
    x = events(3, 4)

    def energy(u: Tensor) -> Tensor:
        return (u**4 / 4 + u.cos()).sum(1)

    losses = per_direction(energy, x, signs(4, 3), True)
    torch.testing.assert_close(losses, implicit(energy, x).expand_as(losses), rtol=0, atol=1e-12)
    assert per_direction(energy, x, signs(4, 3), False).var(0).min() > 1e-3


@FORMS
def test_orthogonal_directions_give_the_trace_on_the_sphere_of_radius_root_d_and_not_on_the_unit_sphere(
    reduced: bool,
) -> None:
    energy, x = network(3), events(5, 3)
    unit = torch.eye(3, dtype=torch.float64)[:, None].expand(-1, 5, -1)
    right = sliced_score_matching(energy, x, math.sqrt(3) * unit, reduced)
    wrong = sliced_score_matching(energy, x, unit, reduced)
    torch.testing.assert_close(right, implicit(energy, x).mean(), rtol=0, atol=1e-12)
    assert abs(wrong - right) > 0.1


@FORMS
def test_many_projections_are_the_mean_over_single_ones(reduced: bool) -> None:
    energy, x, directions = network(3), events(5, 3), events(7, 5, 3, seed=1)
    single = [sliced_score_matching(energy, x, v[None], reduced) for v in directions]
    together = sliced_score_matching(energy, x, directions, reduced)
    torch.testing.assert_close(together, torch.stack(single).mean(), rtol=0, atol=1e-12)


class Slope:
    """The field of an energy, as a vector alone."""

    def __init__(self, energy: Energy) -> None:
        self.energy = energy

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        return score_through(self.energy, x)


class Swirl:
    """s = Ax with an A that is not symmetric, so s is the slope of no energy."""

    def __init__(self, d: int) -> None:
        self.matrix = events(d, d, seed=7)

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        return x @ self.matrix.T


@FORMS
def test_of_the_field_of_an_energy_it_is_that_of_the_energy_with_its_gradient(reduced: bool) -> None:
    energy, x, directions = network(3), events(5, 3), events(2, 5, 3, seed=1)
    ours, theirs = (sliced_score_matching(one, x, directions, reduced) for one in (Slope(energy), energy))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient(ours, energy), gradient(theirs, energy), rtol=0, atol=1e-11)


@FORMS
def test_of_a_field_without_an_energy_the_trace_is_that_of_the_field(reduced: bool) -> None:
    field, x = Swirl(3), events(5, 3)
    assert not torch.allclose(field.matrix, field.matrix.T)
    sliced = sliced_score_matching(field, x, signs(3, 5), reduced)
    exact = 0.5 * field.score(x).square().sum(1).mean() + field.matrix.trace()
    torch.testing.assert_close(sliced, exact, rtol=0, atol=1e-12)
    along = score_and_curvature(field, x, directions := events(2, 5, 3, seed=1))[1]
    torch.testing.assert_close(along, torch.einsum("mbi,ij,mbj->mb", directions, field.matrix, directions))


@FORMS
def test_the_method_with_a_vector_network_matches_its_score_at_one_level(reduced: bool) -> None:
    """Without noise at the data's deviation, with noise at that; in the data's unit either way."""
    field, x, facts = network(2, "score_mlp", scale=2.0), events(5, 2), gaussian_facts(2, scale=2.0)
    directions = draw_directions("rademacher", (1, 5, 2), draws(0, 0)("directions")).double()
    noise = normal(x, draws(0, 0)("noise"))
    for sigma, level in ((0.0, 2.0), (0.5, 1.0)):
        method = Method(Settings(sigma=sigma, variance_reduced=reduced), facts)
        expected = sliced_score_matching(field.given(level), x + level * noise * bool(sigma), directions, reduced)
        torch.testing.assert_close(method(Meter(field), x, draws(0, 0)), 4 * expected, rtol=0, atol=1e-12)


def off_identity(directions: Tensor) -> float:
    """The largest error of E[vvᵀ] = I."""
    flat = directions.flatten(0, 1).flatten(1)
    return float((flat.T @ flat / len(flat) - torch.eye(flat.shape[1])).abs().max())


@pytest.mark.parametrize("event", [(3,), (1, 2, 2)], ids=str)
@pytest.mark.parametrize("kind", ["rademacher", "gaussian", "sphere"])
def test_directions_have_identity_covariance(kind: Distribution, event: tuple[int, ...]) -> None:
    """40 000 directions: an entry of the covariance has a deviation of at most √2/200, so 0.03 is four of them."""
    directions = draw_directions(kind, (2, 20_000, *event), stream(0, "directions"))
    assert off_identity(directions) < 0.03
    assert off_identity(directions / math.sqrt(math.prod(event))) > 0.5  # a unit sphere would be seen
    if kind != "gaussian":
        length = directions.flatten(2).norm(dim=2)
        torch.testing.assert_close(length, torch.full_like(length, math.sqrt(math.prod(event))))


@FORMS
@pytest.mark.parametrize("kind", ["rademacher", "gaussian", "sphere"])
def test_the_method_draws_its_directions_afresh_for_each_datum(kind: Distribution, reduced: bool) -> None:
    energy, x = network(3), events(5, 3)
    settings = Settings(projections=4, directions=kind, variance_reduced=reduced)
    directions = draw_directions(kind, (4, 5, 3), draws(0, 0)("directions")).double()
    expected = sliced_score_matching(energy, x, directions, reduced)
    assert Method(settings, gaussian_facts(3))(Meter(energy), x, draws(0, 0)).item() == expected.item()
    assert not torch.equal(directions[0, 0], directions[0, 1])
    assert not torch.equal(directions[0], directions[1])


@FORMS
@pytest.mark.parametrize("event", [(1,), (3,), (1, 2, 2)], ids=str)
def test_implicit_score_matching_is_the_mean_over_all_sign_vectors_with_its_gradient(
    event: tuple[int, ...], reduced: bool
) -> None:
    d = math.prod(event)
    flat, x = network(d), events(5, *event)

    def energy(u: Tensor) -> Tensor:
        return flat(u.flatten(1))

    exact = implicit_score_matching(energy, x)
    sliced = sliced_score_matching(energy, x, signs(d, 5).reshape(-1, *x.shape), reduced)
    torch.testing.assert_close(exact, sliced, rtol=0, atol=1e-12)
    torch.testing.assert_close(exact, implicit(flat, x.flatten(1)).mean(), rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient(exact, flat), gradient(sliced, flat), rtol=0, atol=1e-11)


@pytest.mark.parametrize("event", [(3,), (1, 2, 2)], ids=str)
def test_finite_differences_tend_to_sliced_score_matching_like_the_square_of_epsilon(event: tuple[int, ...]) -> None:
    flat, x, directions = network(math.prod(event)), events(5, *event), events(3, 5, *event, seed=1)

    def energy(u: Tensor) -> Tensor:
        return flat(u.flatten(1))

    exact = sliced_score_matching(energy, x, directions, variance_reduced=False)
    values, slopes = [], []
    epsilons = [0.1, 0.05, 0.025, 0.0125]
    for epsilon in epsilons:
        loss = finite_difference_score_matching(energy, x, directions, epsilon)
        values.append(abs(loss - exact).item())
        slopes.append((gradient(loss, flat) - gradient(exact, flat)).norm().item())
    for errors in (values, slopes):
        assert np.polyfit(np.log(epsilons), np.log(errors), 1)[0] == pytest.approx(2, abs=0.1)
    assert values[-1] < 1e-2 * abs(exact.item())
    assert slopes[-1] < 1e-2 * gradient(exact, flat).norm().item()


def test_of_a_parabola_finite_differences_are_exact_whatever_epsilon() -> None:
    x, directions = events(5, 3), events(2, 5, 3, seed=1)

    def energy(u: Tensor) -> Tensor:
        return (u.square() * torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)).sum(1) + u[:, 0] * u[:, 1] + u[:, 0]

    exact = sliced_score_matching(energy, x, directions, variance_reduced=False)
    found = finite_difference_score_matching(energy, x, directions, 0.7)
    torch.testing.assert_close(found, exact, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["ism", "fd_ssm"])
def test_noise_on_the_data_and_the_datas_unit_are_those_of_sliced_score_matching(name: str) -> None:
    """In data twice as large a score is half as long: the loss, in the data's unit, stays."""
    module, x = load("methods", name), events(6, 2)
    losses = [
        module.Method(module.Settings(sigma=0.3), gaussian_facts(2, scale))(
            Meter(network(2, scale=scale)), scale * x, draws(0, 0)
        ).item()
        for scale in (1.0, 2.0)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    plain = module.Method(module.Settings(), gaussian_facts(2))(Meter(network(2)), x, draws(0, 0)).item()
    assert plain != pytest.approx(losses[0], rel=1e-3)

"""Sliced score matching averages to implicit score matching: an equality over all sign vectors, not statistics."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from ebmbench.core.energy import Energy
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from ebmbench.methods.ssm import Distribution, Method, Settings, draw_directions, sliced_score_matching
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

"""Sums and multiples of energies: autograd's scores, by the closed forms of their parts."""

from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.core.energy import Quadratic, Sum, Tempered, by_autograd, energy_and_score, fixed, score
from ebmbench.core.streams import stream
from ebmbench.samplers import hmc, langevin, mala
from tests.conftest import gaussian_facts


def network(seed: int) -> Any:
    module = load("models", "mlp")
    return module.Model(module.Settings(width=8), gaussian_facts(2)).initialise(stream(seed, "weights")).double()


def events() -> Tensor:
    return torch.randn(7, 2, generator=stream(0, "x"), dtype=torch.float64)


@pytest.mark.parametrize(
    "energy",
    [
        Sum([network(0), network(1)]),
        Sum([network(0), Quadratic(0.3, torch.tensor([1.0, -2.0]).double())]),
        Tempered(network(0), 0.25),
        Tempered(Sum([network(0), Quadratic(1.0)]), 4.0),
    ],
)
def test_a_composed_energy_has_autograds_score_fixed_or_not(energy: Any) -> None:
    x = events()
    value, s = by_autograd(energy, x)
    for one in (energy, fixed(energy)):
        torch.testing.assert_close(score(one, x).detach(), s, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(one(x).detach(), value, rtol=1e-12, atol=1e-12)
        for a, b in zip(energy_and_score(one, x), (value, s), strict=True):
            torch.testing.assert_close(a.detach(), b, rtol=1e-12, atol=1e-12)


def test_parts_keep_their_closed_forms_along_a_chain() -> None:
    parts = fixed(Sum([network(0), network(1)])).parts
    assert [type(part).__name__ for part in parts] == ["ClosedForm", "ClosedForm"]


@pytest.mark.parametrize("kind", [langevin.Settings, mala.Settings, hmc.Settings])
def test_every_sampler_takes_a_composed_energy(kind: Any) -> None:
    energy = Sum([Tempered(network(0), 0.5), Quadratic(0.1)])
    settings = kind(steps=3, step_size=0.01)
    one = settings.run(energy, events(), stream(0, "chain")).x
    other = settings.run(lambda x: energy(x), events(), stream(0, "chain")).x
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_a_chain_goes_where_autograd_would_take_it() -> None:
    energy = Sum([network(0), network(1)])
    settings = langevin.Settings(steps=10, step_size=0.01)
    one = settings.run(energy, events(), stream(0, "chain")).x
    other = settings.run(lambda x: energy(x), events(), stream(0, "chain")).x
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)

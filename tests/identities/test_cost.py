"""What a training step costs: passes through the network for each datum, counted by hand.

A chain of k Metropolis-adjusted steps asks k + 1 times for energy and score, two passes each, and one of k Langevin
steps k times. What stands in the graph of the loss is paid again on the way back: an energy 1 + 1, a score 2 + 2, a
score with M curvatures twice 2 + 2M, a vector-valued score 1 + 1.
"""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ebmbench.config.registry import load
from ebmbench.core.energy import marginal
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from ebmbench.samplers import langevin, mala
from ebmbench.training.job import make_network
from tests.conftest import gaussian_facts, labels_for, real_methods

BATCH = 8
MALA: dict[str, Any] = {"sampler": mala.Settings(steps=6, step_size=0.1)}
LANGEVIN: dict[str, Any] = {"sampler": langevin.Settings(steps=6, step_size=0.1)}
# Per datum: energies, input gradients, events that the parameter gradient came from, passes.
CASES: dict[str, tuple[str, dict[str, Any], tuple[int, int, int, int]]] = {
    "mle": ("mle", MALA, (2, 7, 2, 2 * 7 + 2 * 2)),
    "mle, langevin": ("mle", LANGEVIN, (2, 6, 2, 2 * 6 + 2 * 2)),
    "mle, penalty": ("mle", {**MALA, "energy_penalty": 0.1}, (2, 7, 2, 2 * 7 + 2 * 2)),
    "cd": ("cd", MALA, (2, 7, 2, 2 * 7 + 2 * 2)),
    "cd, persistent": ("cd", {**MALA, "persistent": True}, (2, 7, 2, 2 * 7 + 2 * 2)),
    "jem": ("jem", MALA, (2, 7, 2, 2 * 7 + 2 * 2)),
    "jem, a classifier alone": ("jem", {"weight": 0.0}, (1, 0, 1, 2)),
    "icd": ("icd", LANGEVIN, (2, 7, 3, 2 * 7 + 2 + 2 * 2)),  # the last step has a way back, and its end a slope
    "icd, 3 steps back": ("icd", {**LANGEVIN, "unrolled": 3}, (2, 7, 5, 2 * 7 + 2 + 3 * 2 + 2)),
    "adance": ("adance", MALA, (4, 7, 2, 2 * 7 + 2 + 2 * 2)),  # the copy's energies have no way back
    "adance, langevin": ("adance", {**LANGEVIN, "interval": 1}, (4, 6, 2, 2 * 6 + 2 + 2 * 2)),
    "adabrm": ("adabrm", MALA, (4, 7, 2, 2 * 7 + 2 + 2 * 2)),
    "nce": ("nce", {"ratio": 1}, (2, 0, 2, 4)),
    "nce, ν = 5": ("nce", {"ratio": 5}, (6, 0, 6, 12)),
    "rank_nce": ("rank_nce", {"ratio": 1}, (2, 0, 2, 4)),
    "rank_nce, K = 5": ("rank_nce", {"ratio": 5}, (6, 0, 6, 12)),
    "brm": ("brm", {"ratio": 1}, (2, 0, 2, 4)),
    "cnce": ("cnce", {"ratio": 1}, (2, 0, 2, 4)),
    "cnce, κ = 5": ("cnce", {"ratio": 5}, (6, 0, 6, 12)),
    # The adversary's move, there and back, then its noise or field without a way back, then the energy's.
    "fce": ("fce", {}, (2 + 2, 0, 4 + 2, 2 * (2 + 2) + 2 + 2 * 2)),
    "fce, twice": ("fce", {"adversary_updates": 2}, (2 * 2 + 2, 0, 2 * 4 + 2, 2 * 2 * (2 + 2) + 2 + 2 * 2)),
    "ace": ("ace", {}, (2 + 2, 0, 4 + 2, 2 * (2 + 2) + 2 + 2 * 2)),
    "maximin": ("maximin", {"adversary_updates": 1}, (1 + 2, 0, 2 + 2, 2 * (1 + 1) + 1 + 2 * 2)),
    "stein": ("stein", {"adversary_updates": 3}, (0, 1, 3 + 1, 3 * 2 * 2 + 1 + 2 * 2)),
    "dsm": ("dsm", {}, (0, 1, 1, 4)),
    "ssm": ("ssm", {"projections": 1}, (0, 2, 1, 8)),
    "ssm, M = 3": ("ssm", {"projections": 3, "variance_reduced": False}, (0, 4, 1, 16)),
    # A vector: one pass, and one for each direction, and all that back.
    "dsm, score": ("dsm", {"model": "score_mlp"}, (0, 1, 1, 2)),
    "ssm, score, M = 3": ("ssm", {"model": "score_mlp", "projections": 3}, (0, 4, 1, 8)),
    "ism": ("ism", {}, (0, 3, 1, 12)),  # in the plane
    "fd_ssm": ("fd_ssm", {"projections": 1}, (3, 0, 3, 6)),
    "fd_ssm, M = 3": ("fd_ssm", {"projections": 3}, (7, 0, 7, 14)),
    "ncsn": ("ncsn", {"model": "noise_mlp"}, (0, 1, 1, 4)),
    "ncsn, score": ("ncsn", {"model": "score_mlp"}, (0, 1, 1, 2)),
}


@pytest.mark.parametrize("case", list(CASES))
def test_a_step_costs_what_its_formula_asks_for(case: str) -> None:
    name, section, expected = CASES[case]
    module, facts = load("methods", name), replace(gaussian_facts(2), classes=list("ab"))
    settings = module.Settings(**section)
    models = load("models", settings.model)
    network = make_network(name, settings.model, models.Settings(width=4), facts).initialise(stream(0, "weights"))
    method, energy = module.Method(settings, facts).initialise(draws(0, "start"), network), Meter(network)
    for step in range(1, 3):
        x = torch.randn(BATCH, 2, generator=stream(0, "x"))
        energy.backward(method(energy, x, draws(0, step), *labels_for(method, x)))
        found = energy.counts.as_dict()
        names = ("energy_evaluations", "input_gradients", "parameter_gradients", "passes")
        assert {name: found[name] for name in names} == {
            name: step * BATCH * count for name, count in zip(names, expected, strict=True)
        }


class Tick(torch.autograd.Function):
    """The identity, which counts the events that pass it: on the way there, back, back through the way back, …"""

    events = 0

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        Tick.events += len(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return Tick.apply(gradient)


class Ticking(nn.Module):
    """A network without closed forms that counts in its middle, at noise levels too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 4), nn.Linear(4, 2)

    def logits(self, x: Tensor) -> Tensor:
        return self.second(Tick.apply(self.first(x)).tanh().square())

    def forward(self, x: Tensor) -> Tensor:
        return marginal(self.logits(x))

    def given(self, sigma: Tensor) -> "Ticking":
        return self


class Vector(nn.Module):
    """A score without an energy that counts in its middle."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(Tick.apply(self.first(x)).tanh())

    def score(self, x: Tensor, create_graph: bool = False) -> Tensor:
        with torch.set_grad_enabled(create_graph):
            return self(x)


HOOKED: dict[str, tuple[str, dict[str, Any], type[nn.Module]]] = {name: (name, {}, Ticking) for name in real_methods()}
HOOKED |= {
    "icd, 3 steps back": ("icd", {"unrolled": 3}, Ticking),
    "icd, all steps back": ("icd", {"unrolled": 10}, Ticking),
    "dsm, score": ("dsm", {}, Vector),
    "ssm, score": ("ssm", {}, Vector),
    "ssm, score, M = 3": ("ssm", {"projections": 3, "variance_reduced": False}, Vector),
}


@pytest.mark.parametrize("case", list(HOOKED))
def test_the_passes_of_every_method_are_those_that_a_hook_in_the_network_counts(case: str) -> None:
    name, section, kind = HOOKED[case]
    module, facts = load("methods", name), gaussian_facts(2)
    network = kind()
    for number, weight in enumerate(network.parameters()):
        nn.init.normal_(weight, generator=stream(0, "weights", number))
    method = module.Method(module.Settings(**section), facts).initialise(draws(0, "start"), network)
    if (adversary := getattr(method, "adversary", None)) is not None:  # a pass goes through its first layer once
        layers = adversary.network.named_modules()
        first = next(layer for name, layer in layers if isinstance(layer, nn.Linear) and "layers" in name)
        first.register_forward_hook(lambda layer, inputs, output: Tick.apply(output))
    energy = Meter(network)
    x = torch.randn(BATCH, 2, generator=stream(0, "x"))
    for step in range(2):
        Tick.events, before = 0, energy.counts.passes
        energy.backward(method(energy, x, draws(0, step), *labels_for(method, x)))
        assert energy.counts.passes - before == Tick.events > 0

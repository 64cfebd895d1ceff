"""Every registered metric keeps the contract: it says what it needs, works with that, and gives a reason without it."""

import math
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import describe, load, names
from ebmbench.config.sections import Annealing
from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable, Value
from ebmbench.metrics.common.flow import Flow
from tests.conftest import binary_facts, gaussian_facts
from tests.contracts.examples import Ladder

METRICS = names("metrics")
NEEDS = {name: load("metrics", name).NEEDS for name in METRICS}
# Metrics of images need a trained classifier: tests/metrics/test_fidelity.py has one.
OF_POINTS = [name for name in METRICS if "images" not in NEEDS[name]]
pytestmark = pytest.mark.usefixtures("untouched_global_generator")


class Labelled:
    """The true p(y|x) of labels on the density of an energy: p(y = 1|x) is the logistic function of 2x₁."""

    def __init__(self, energy: Energy) -> None:
        self.energy = energy

    def __call__(self, x: Tensor) -> Tensor:
        return self.energy(x)

    def logits(self, x: Tensor) -> Tensor:
        odds = torch.stack([torch.zeros(len(x)), 2 * x[:, 0]], dim=1)
        return odds - (odds.logsumexp(1) + self(x))[:, None]

    def draw(self, x: Tensor) -> Tensor:
        return torch.multinomial(self.logits(x).softmax(1), 1, generator=stream(0, "labels")).squeeze(1)


def truth_with(needs: tuple[str, ...]) -> Evaluation:
    """The truth itself, a normal in the plane, judged as a model: nothing of it is given but what is needed.

    Of a metric of binary data it is the Ising grid.
    """
    if "binary" in needs:
        return grid_with(needs)
    truth = Mixture(torch.zeros(1, 2), torch.ones(1), 1.0)
    whole = Subject(
        energy=lambda x: 3.0 - truth.log_prob(x),  # an unnormalised energy: the constant must not matter
        samples=truth.sample(4000, stream(0, "model")),
        target=truth,
        learned={"c": -3.0},
        trace=torch.randn(16, 50, 1, generator=stream(0, "trace")),
        traced=("x1",),
        flow=Flow(Ladder(truth), 0.01, 3.0, gaussian_facts(2)),
    )
    missing = {"energy": None, "samples": None, "target": None, "learned": {}, "trace": None, "flow": None}
    subject = replace(whole, **{part: nothing for part, nothing in missing.items() if part not in needs})
    test, facts = truth.sample(4000, stream(0, "test")), gaussian_facts(2)
    density, labels = truth if "density" in needs else None, None
    if "labels" in needs:
        judge = Labelled(whole.energy)
        subject, labels = replace(subject, energy=subject.energy and judge), judge.draw(test.double())
    settings = Settings(cells=256, block=500, ais=Annealing(temperatures=100))
    return Evaluation(subject, test, density, facts, settings, labels=labels)


def grid_with(needs: tuple[str, ...]) -> Evaluation:
    truth = load("data", "ising").density()
    energy = (lambda x: 3.0 - truth.log_prob(x)) if "energy" in needs else None
    density = truth if "density" in needs else None
    return Evaluation(
        Subject(energy, None), truth.sample(100, stream(0, "test")), density, binary_facts(1, 4, 4), Settings()
    )


def compute(name: str, e: Evaluation) -> Value:
    found = load("metrics", name).compute(e)
    assert isinstance(found, Value)
    return found


@cache
def of_truth(name: str) -> Value:
    """A second computation, which the tests share."""
    return compute(name, truth_with(NEEDS[name]))


@pytest.mark.parametrize("name", OF_POINTS)
def test_what_it_needs_is_enough_and_its_number_comes_with_a_protocol(name: str) -> None:
    e = truth_with(NEEDS[name])
    test, samples = e.test.clone(), None if e.subject.samples is None else e.subject.samples.clone()
    found = compute(name, e)
    assert found.value is not None
    assert math.isfinite(found.value)
    assert found.n is not None
    assert found.n > 0
    assert found.protocol
    assert found.error is None or found.error >= 0
    assert of_truth(name) == found
    assert torch.equal(e.test, test)
    assert samples is None or torch.equal(e.subject.samples, samples)


@pytest.mark.parametrize("name", METRICS)
def test_without_any_one_of_its_needs_it_gives_a_reason(name: str) -> None:
    assert NEEDS[name]
    for need in NEEDS[name]:
        with pytest.raises(Unavailable) as raised:
            compute(name, truth_with(tuple(other for other in NEEDS[name] if other != need)))
        assert len(str(raised.value).split()) >= 4


LEAST = [
    name
    for name in OF_POINTS
    if describe("metrics", name).direction == "lower" or hasattr(load("metrics", name), "FLOOR")
]


@pytest.mark.parametrize("name", LEAST)
def test_the_truth_itself_is_at_the_floor(name: str) -> None:
    """0 up to rounding, unless the metric's file says how much chance leaves (`FLOOR`), or its error does."""
    found = of_truth(name)
    assert abs(found.value) <= max(getattr(load("metrics", name), "FLOOR", 1e-8), 4 * (found.error or 0))


@pytest.mark.parametrize("name", METRICS)
def test_it_says_which_way_is_better_and_cites(name: str) -> None:
    entry = describe("metrics", name)
    assert entry.direction in ("lower", "higher", "none")
    assert len(entry.paper) > 20
    assert not entry.samples or "samples" in NEEDS[name]


@pytest.mark.parametrize("name", [name for name in METRICS if describe("metrics", name).gap])
def test_the_gap_that_decides_in_its_stead_is_another_metric_with_a_best_value_of_zero(name: str) -> None:
    gap = describe("metrics", describe("metrics", name).gap)
    assert gap.name != name
    assert gap.direction == "lower"

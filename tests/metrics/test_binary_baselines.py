"""Baselines of binary data: normalised, as likely as they should be, and silent on data that are not binary."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from ebmbench.baselines import bernoulli_mixture, gaussian, mean_field, oracle
from ebmbench.baselines.common import bernoulli
from ebmbench.config.sections import Dataset, Metrics
from ebmbench.core.binary import states
from ebmbench.core.streams import stream
from ebmbench.experiment.data import Data, open_data
from ebmbench.metrics import log_likelihood
from ebmbench.metrics.common.evaluation import Evaluation, Subject

ROOT = Path(__file__).parents[2]
BASELINES = {"oracle": oracle, "mean_field": mean_field, "bernoulli_mixture": bernoulli_mixture, "gaussian": gaussian}


@pytest.fixture(scope="module")
def bars() -> Data:
    entry = Dataset(source="ebmbench/data/bars_and_stripes.py", train=32, test=32)
    return open_data("bars_and_stripes", entry, ROOT)


def subject(name: str, data: Data, count: int = 50) -> Subject:
    generator = stream(0, "test", name)
    return BASELINES[name].subject(data.density, data.train, data.test, data.facts, count, generator)


def likelihood(name: str, data: Data) -> float:
    value = log_likelihood.compute(
        Evaluation(subject(name, data), data.test, data.density, data.facts, Metrics())
    ).value
    assert value is not None
    return value


@pytest.mark.parametrize("name", ["mean_field", "bernoulli_mixture"])
def test_probabilities_of_all_states_add_up_to_one(name: str, bars: Data) -> None:
    energy = subject(name, bars).energy
    assert energy is not None
    total: Tensor = (-energy(states(16).reshape(-1, 1, 4, 4))).logsumexp(0)
    assert float(total) == pytest.approx(0, abs=1e-12)


def test_likelihoods_on_bars_and_stripes_are_known_or_in_order(bars: Data) -> None:
    """Every unit is on half of the time: 16 log 2. The truth is the literature's bound, −108.1 over 32 patterns."""
    assert 32 * likelihood("oracle", bars) == pytest.approx(-108.13, abs=0.01)
    assert likelihood("mean_field", bars) == pytest.approx(-16 * 0.693147, abs=1e-4)
    assert likelihood("mean_field", bars) + 1 < likelihood("bernoulli_mixture", bars) < likelihood("oracle", bars)


def test_expectation_maximisation_finds_two_clusters() -> None:
    entry = Dataset(source="ebmbench/data/bars_and_stripes.py", train=32, test=32)
    facts = open_data("bars_and_stripes", entry, ROOT).facts
    half = (torch.arange(16) < 8).float().reshape(1, 4, 4)
    train = torch.cat([half.expand(300, -1, -1, -1), (1 - half).expand(100, -1, -1, -1)])
    found = bernoulli.fit(train, facts, 2)
    heavy = int(found.weights.argmax())
    assert float(found.weights[heavy]) == pytest.approx(301 / 402, abs=1e-3)
    torch.testing.assert_close(found.means[heavy], half.flatten().double(), atol=0.01, rtol=0)


def test_samples_have_the_means_of_the_fit(bars: Data) -> None:
    samples = subject("bernoulli_mixture", bars, 20_000).samples
    assert samples is not None
    assert set(samples.unique().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(samples.mean(0), torch.full((1, 4, 4), 0.5), atol=0.03, rtol=0)


@pytest.mark.parametrize(
    ("name", "source"),
    [("mean_field", "two_moons"), ("bernoulli_mixture", "two_moons"), ("gaussian", "bars_and_stripes")],
)
def test_a_baseline_of_other_data_says_nothing(name: str, source: str) -> None:
    data = open_data(source, Dataset(source=f"ebmbench/data/{source}.py", train=32, test=32), ROOT)
    found = subject(name, data)
    assert found.energy is None
    assert found.samples is None

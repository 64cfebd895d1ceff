"""Annealed importance sampling where Z is known: exact constants, no bias in the weights, a bound from each side."""

import math

import pytest
import torch
from torch import Tensor

from ebmbench.config.sections import Annealing as Settings
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.metrics.common.annealing import Estimate, Path, Schedule, anneal, forward, pilot, reverse, sigmoid, spread
from ebmbench.metrics.common.annealing_base import Base, make_base
from tests.conftest import gaussian_facts


class Gaussian:
    """An unnormalised Gaussian, with a constant that matters."""

    def __init__(self, d: int, deviation: float = 0.6) -> None:
        self.d, self.deviation = d, deviation
        self.log_z = d * (math.log(deviation) + 0.5 * math.log(2 * math.pi)) - 7.0

    def __call__(self, x: Tensor) -> Tensor:
        return 7.0 + ((x - 0.4) / self.deviation).square().sum(1) / 2

    def sample(self, count: int, seed: int = 0) -> Tensor:
        noise = torch.randn(count, self.d, generator=stream(seed, "model"), dtype=torch.float64)
        return 0.4 + self.deviation * noise


def image_facts(d: int, levels: int = 5) -> Facts:
    return Facts("images", [1, 1, d], 100, 100, [-0.7] * d, [], 0.5, "none", "none", levels)


def correlated(d: int) -> Base:
    covariance = 0.7 * torch.eye(d).double() + 0.3
    facts = Facts("gaussian", [d], 100, 100, [0.1] * d, covariance.tolist(), 1.0, "none", "none")
    return make_base(facts, None)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_between_two_gaussians_it_gives_the_known_ratio_of_constants(d: int) -> None:
    model = Gaussian(d)
    found = anneal(model, correlated(d), Settings(chains=400, temperatures=150), model.sample(400))
    assert found.reverse is not None
    for side in (found.forward, found.reverse):
        assert side.error < 0.1
        assert side.log_z == pytest.approx(model.log_z, abs=4 * side.error)
    assert not found.crossed


@pytest.mark.parametrize("temperatures", [2, 3, 8])
def test_the_weights_are_unbiased_however_short_the_schedule(temperatures: int) -> None:
    """Of a model about as wide as the base, so that weights have a variance in both directions."""
    model = Gaussian(2, deviation=1.1)
    path = Path(model, correlated(2))
    schedule = Schedule(torch.linspace(0, 1, temperatures, dtype=torch.float64), torch.full((temperatures,), 0.9))
    log_w, _ = forward(path, schedule, 20_000, stream(0, "f"))
    back = reverse(path, schedule, path.base.coordinates(model.sample(20_000)), stream(0, "r"))
    for relative in ((log_w - model.log_z).exp(), (back + model.log_z).exp()):
        error = float(relative.std()) / math.sqrt(len(relative))
        assert error < 0.01
        assert float(relative.mean()) == pytest.approx(1, abs=4 * error)


def test_forward_is_below_log_z_and_reverse_above_on_average() -> None:
    """Few chains on few temperatures, where the bias is large: 80 repetitions."""
    model = Gaussian(10)
    path = Path(model, correlated(10))
    schedule = pilot(path, Settings(chains=200, temperatures=8), stream(0, "p"))
    ahead = [forward(path, schedule, 10, stream(seed, "f"))[0] for seed in range(80)]
    starts = [path.base.coordinates(model.sample(10, seed)) for seed in range(80)]
    back = [reverse(path, schedule, y, stream(seed, "r")) for seed, y in enumerate(starts)]
    lower = torch.tensor([Estimate.of(log_w).log_z for log_w in ahead])
    upper = torch.tensor([Estimate.of(log_w, sign=-1).log_z for log_w in back])
    for excess in (lower - model.log_z, model.log_z - upper):
        assert float(excess.mean()) < -4 * float(excess.std()) / math.sqrt(len(excess))


def tilted(x: Tensor) -> Tensor:
    return 3 * x.flatten(1).sum(1) + 1.0


def test_in_the_box_of_images_the_constant_is_that_of_the_box() -> None:
    """E is linear, without any confinement: ∫ exp(−3x) over the box is known, over the line infinite."""
    d, edge = 6, 1.25
    truth = d * math.log(2 * math.sinh(3 * edge) / 3) - 1
    share = torch.rand(500, 1, 1, d, generator=stream(0, "m"), dtype=torch.float64)
    samples = -edge - torch.log1p(-share * (1 - math.exp(-6 * edge))) / 3
    outside = torch.full((100, 1, 1, d), -1.3, dtype=torch.float64)  # where the density is zero: not used
    settings = Settings(chains=300, temperatures=100)
    found = anneal(tilted, make_base(image_facts(d), None), settings, torch.cat([outside, samples]))
    assert found.reverse is not None
    for side in (found.forward, found.reverse):
        assert side.log_z == pytest.approx(truth, abs=4 * side.error)
        assert side.error < 0.05


def test_a_reflected_flight_stays_between_the_walls_and_can_be_flown_back() -> None:
    base = make_base(image_facts(3), None)
    y = base.draw(200, stream(0, "y"))
    momentum = 9 * torch.randn(200, 3, generator=stream(0, "p"), dtype=torch.float64)
    end, after = base.reflect(y + momentum, momentum)
    assert bool(((end >= base.low) & (end <= base.high)).all())
    home, before = base.reflect(end - after, -after)
    torch.testing.assert_close(home, y)
    torch.testing.assert_close(-before, momentum)


@pytest.mark.parametrize("base", [correlated(4), make_base(image_facts(4), None)], ids=["gaussian", "box"])
def test_a_transition_leaves_its_density_in_place(base: Base) -> None:
    """Chains that start in the base and move at β = 0 keep its moments; the step is so large that many are refused."""
    path = Path(lambda x: 0.0 * x.flatten(1).sum(1), base)
    state = start = path.at(base.draw(20_000, stream(0, "y")))
    generator = stream(0, "t")
    for _ in range(8):
        state, acceptance = path.transition(state, 0.0, 1.6, generator)
    assert float(acceptance.mean()) < 0.9
    assert not torch.equal(state.y, start.y)
    for power in (1, 2, 3, 4):
        change = state.y.pow(power) - start.y.pow(power)
        assert bool((change.mean(0).abs() < 4 * change.std(0) / math.sqrt(len(change))).all())


def test_the_base_is_normalised_and_its_samples_are_its_own() -> None:
    base = make_base(image_facts(1), None)
    x = torch.linspace(-1.25, 1.25, 4001, dtype=torch.float64)[:, None, None, None]
    density = base.log_prob(base.coordinates(x)).exp()
    assert float(torch.trapezoid(density, x.flatten())) == pytest.approx(1, abs=1e-6)
    mean = float(torch.trapezoid(density * x.flatten(), x.flatten()))
    assert float(base.events(base.draw(100_000, stream(0, "b"))).mean()) == pytest.approx(mean, abs=0.01)


def test_the_schedule_ends_at_the_model_and_is_dense_where_the_ratio_varies() -> None:
    betas = spread(sigmoid(200), 1 / (0.01 + sigmoid(200)), 50)
    assert betas[0] == 0
    assert betas[-1] == 1
    assert bool((betas.diff() > 0).all())
    assert betas[1] < 0.2 * (betas[-1] - betas[-2])


def test_a_pilot_with_a_bad_first_step_still_finds_the_acceptance() -> None:
    model = Gaussian(5)
    path = Path(model, make_base(gaussian_facts(5), None))
    for first in (1e-4, 1e4):
        schedule = pilot(path, Settings(chains=200, temperatures=60, step_size=first), stream(0, "p"))
        state = path.at(path.base.coordinates(model.sample(2000)))
        _, acceptance = path.transition(state, 1.0, float(schedule.step_sizes[-1]), stream(0, "t"))
        assert float(acceptance.mean()) == pytest.approx(0.65, abs=0.1)

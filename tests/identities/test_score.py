"""The score of a Gaussian, and what a score costs."""

import torch

from ebmbench.config.registry import load
from ebmbench.core.energy import score
from ebmbench.core.meter import Meter
from ebmbench.core.streams import stream
from tests.conftest import gaussian_facts


def test_the_score_of_a_gaussian_is_minus_precision_times_deviation() -> None:
    precision = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    mean = torch.tensor([1.0, -1.0], dtype=torch.float64)
    x = torch.randn(10, 2, generator=stream(0, "x"), dtype=torch.float64)

    def energy(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * torch.einsum("bi,ij,bj->b", x - mean, precision, x - mean)

    torch.testing.assert_close(score(energy, x), -(x - mean) @ precision, rtol=0, atol=1e-12)


def test_passes_are_counted_by_what_the_network_had_to_do() -> None:
    facts = gaussian_facts(2)
    models = load("models", "mlp")
    meter = Meter(models.Model(models.Settings(width=4), facts).initialise(stream(0, "weights")))
    x = torch.zeros(10, 2)
    with torch.no_grad():
        meter(x)
    assert meter.counts.passes == 10
    score(meter, x)
    assert meter.counts.passes == 30
    meter.backward(meter(x).sum())
    assert (meter.counts.passes, meter.counts.parameter_gradients) == (50, 10)
    meter.backward(score(meter, x, create_graph=True).square().sum())
    assert (meter.counts.passes, meter.counts.parameter_gradients) == (90, 20)
    assert (meter.counts.energy_evaluations, meter.counts.input_gradients) == (20, 20)

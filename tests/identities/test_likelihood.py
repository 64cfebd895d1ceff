"""Maximum likelihood: the gradient is the likelihood's, and chains that start at data make it CD."""

import pytest
import torch

from ebmbench.config.registry import load
from ebmbench.core.contrastive import contrastive
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from ebmbench.methods.mle import Method, Settings
from tests.conftest import gaussian_facts


def test_with_exact_negatives_the_gradient_is_that_of_the_log_likelihood() -> None:
    """A model on five points, E = f·θ, with probabilities of 1, 4, 2, 2 and 1 in ten: ten negatives are its exact mean.

    The truth is the derivative of −log-likelihood with its normaliser.
    """
    f = torch.randn(5, 5, generator=stream(0, "f"), dtype=torch.float64)
    counts = torch.tensor([1, 4, 2, 2, 1])
    theta = torch.linalg.solve(f, -counts.double().log()).requires_grad_(True)
    data, negatives = torch.tensor([0, 0, 1, 4]), torch.arange(5).repeat_interleave(counts)
    (exact,) = torch.autograd.grad(-torch.log_softmax(-f @ theta, 0)[data].mean(), theta)
    (ours,) = torch.autograd.grad(contrastive(lambda x: f[x] @ theta, data, negatives)[0], theta)
    torch.testing.assert_close(ours, exact, rtol=0, atol=1e-12)
    assert exact.norm() > 0.1


def test_equal_positives_and_negatives_cost_nothing() -> None:
    x = torch.randn(7, 2, generator=stream(0, "x"))
    assert contrastive(lambda x: x.square().sum(1), x, x)[0].item() == 0


def test_the_gap_is_how_much_higher_the_energy_of_negatives_is() -> None:
    x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [5.0]])
    loss, gap = contrastive(lambda x: x[:, 0], x, y, penalty=0.1)
    assert gap.item() == 2.5
    assert loss.item() == pytest.approx(-2.5 + 0.1 * (2.5 + 17))


def test_the_penalty_is_the_mean_square_of_both_energies() -> None:
    x, y = (torch.randn(7, 2, generator=stream(seed, "x")) for seed in (0, 1))

    def energy(x: torch.Tensor) -> torch.Tensor:
        return x.sum(1)

    extra = contrastive(energy, x, y, penalty=0.1)[0] - contrastive(energy, x, y)[0]
    torch.testing.assert_close(extra, 0.1 * (energy(x).square().mean() + energy(y).square().mean()))


def test_chains_that_start_at_data_make_it_contrastive_divergence() -> None:
    facts, x = gaussian_facts(2), torch.randn(16, 2, generator=stream(0, "x"))
    models = load("models", "mlp")
    network = models.Model(models.Settings(width=8), facts).initialise(stream(0, "weights"))
    settings = Settings(init="data")
    loss = Method(settings, facts).initialise(draws(0, "start"), network)(Meter(network), x, draws(0, 0))
    negatives = settings.sampler.fit_to(facts).run(network, x, draws(0, 0)("chain")).x
    assert loss.item() == contrastive(network, x, negatives)[0].item()

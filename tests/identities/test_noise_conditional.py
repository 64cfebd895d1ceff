"""Noise-conditional score matching: one level is σ² times denoising score matching, and levels only average."""

import pytest
import torch

from ebmbench.core.energy import score
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws
from ebmbench.data.common.densities import Mixture
from ebmbench.methods import dsm, ncsn, ssm
from ebmbench.methods.dsm import denoising_score_matching
from ebmbench.methods.ncsn import noise_conditional_score_matching
from ebmbench.samplers import annealed_langevin
from tests.conftest import gaussian_facts
from tests.contracts.examples import example_facts, example_network
from tests.identities.networks import events, gradient, network

MODELS = pytest.mark.parametrize("model", ["noise_mlp", "score_mlp"])


@MODELS
@pytest.mark.parametrize("sigma", [0.05, 0.7, 3.0])
def test_one_level_is_denoising_score_matching_times_its_variance(model: str, sigma: float) -> None:
    energy, x, noise = network(2, model), events(9, 2), events(9, 2, seed=1)
    ours = noise_conditional_score_matching(energy, x, noise, torch.full((9,), sigma, dtype=torch.float64))
    theirs = sigma**2 * denoising_score_matching(energy.given(sigma), x, noise, sigma)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient(ours, energy), gradient(theirs, energy), rtol=0, atol=1e-12)


@MODELS
def test_a_batch_of_levels_is_the_mean_over_its_events(model: str) -> None:
    energy, x, noise = network(2, model), events(6, 2), events(6, 2, seed=1)
    sigma = torch.linspace(0.05, 2, 6, dtype=torch.float64)
    single = [
        s**2 * denoising_score_matching(energy.given(s), u[None], e[None], s.item())
        for s, u, e in zip(sigma, x, noise, strict=True)
    ]
    together = noise_conditional_score_matching(energy, x, noise, sigma)
    torch.testing.assert_close(together, torch.stack(single).mean(), rtol=0, atol=1e-12)


@MODELS
def test_the_method_with_one_level_is_the_other_method_with_the_same_streams(model: str) -> None:
    """In units of the data's deviation, 2; the level is a power of two, for the ladder is kept in float32."""
    facts, energy, x = gaussian_facts(2, scale=2.0), network(2, model, scale=2.0), events(9, 2)
    ladder = annealed_langevin.Settings(levels=1, sigma_min=0.125)
    ours = ncsn.Method(ncsn.Settings(sampler=ladder), facts)(Meter(energy), x, draws(0, 0))
    for network_ in (energy, energy.given(0.25)):  # dsm asks for its level itself, if there are several
        theirs = dsm.Method(dsm.Settings(sigma=0.125), facts)(Meter(network_), x, draws(0, 0))
        torch.testing.assert_close(ours, 0.125**2 * theirs, rtol=0, atol=1e-12)
        torch.testing.assert_close(gradient(ours, energy), 0.125**2 * gradient(theirs, energy), rtol=0, atol=1e-12)


def test_of_images_too_with_the_score_of_a_unet() -> None:
    facts, network_ = example_facts("unet"), example_network("unet").double()
    with torch.no_grad():
        for number, weight in enumerate(network_.parameters()):  # its last layer starts at zero
            weight += 0.1 * events(1, *weight.shape, seed=number)[0]
    x, ladder = events(3, *facts.shape), annealed_langevin.Settings(levels=1, sigma_min=0.25)
    ours = ncsn.Method(ncsn.Settings(sampler=ladder), facts)(Meter(network_), x, draws(0, 0))
    theirs = dsm.Method(dsm.Settings(sigma=0.25), facts)(Meter(network_), x, draws(0, 0))
    torch.testing.assert_close(ours, 0.25**2 * theirs, rtol=0, atol=1e-11)
    sliced = gradient(ssm.Method(ssm.Settings(sigma=0.25), facts)(Meter(network_), x, draws(0, 0)), network_)
    assert all(torch.isfinite(found).all() for found in (sliced, gradient(theirs, network_)))
    assert (sliced != 0).double().mean() > 0.9


@pytest.mark.parametrize(("sigma", "level"), [(0.0, 0.5), (0.25, 0.25)])
def test_a_vector_is_judged_at_the_noise_of_ssm_or_at_the_datas_deviation(sigma: float, level: float) -> None:
    facts, network_, x = example_facts("unet"), example_network("unet"), events(3, 1, 8, 8).float()  # deviation 0.5
    chosen = ssm.Method.judged(ssm.Settings(model="unet", sigma=sigma), network_, facts)
    assert torch.equal(score(chosen, x), score(network_.given(level), x))


def test_the_method_draws_all_levels_of_its_ladder_alike() -> None:
    """12 000 events on 4 levels: a frequency has a deviation of 0.004, so 0.016 is four of them."""
    seen: list[torch.Tensor] = []

    class Watched:
        def given(self, sigma: torch.Tensor) -> "Watched":
            seen.append(sigma)
            return self

        def score(self, x: torch.Tensor, create_graph: bool = False) -> torch.Tensor:
            return x

    settings = annealed_langevin.Settings(levels=4, sigma_max=8.0, sigma_min=1.0)
    method = ncsn.Method(ncsn.Settings(sampler=settings), gaussian_facts(2, scale=2.0))
    method(Meter(Watched()), events(12_000, 2), draws(0, 0))
    levels, counts = seen[0].unique(return_counts=True)
    torch.testing.assert_close(levels.tolist(), [2.0, 4.0, 8.0, 16.0])
    assert (counts / 12_000 - 0.25).abs().max() < 0.016


def test_the_ladder_ends_at_data_with_the_narrowest_noise_and_is_sampled_from_its_wide_end() -> None:
    settings, facts = ncsn.Settings(), gaussian_facts(2, scale=2.0)
    energy, x = network(2, "noise_mlp", scale=2.0), events(9, 2)
    sigma = 2.0 * settings.sampler.sigma_min
    assert torch.equal(ncsn.Method.judged(settings, energy, facts)(x), energy.given(sigma)(x))
    data = Mixture(torch.zeros(1, 2), torch.ones(1), 3.0)
    assert ncsn.Method.target(settings, data, facts.scale).deviation == pytest.approx((9 + sigma**2) ** 0.5)
    assert ncsn.Method.levels(settings, facts).aminmax() == (sigma, 2.0 * settings.sampler.sigma_max)
    assert ncsn.Method.own_sampler(settings) is settings.sampler

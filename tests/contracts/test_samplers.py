"""Every registered sampler keeps one signature and leaves the world as it was."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from ebmbench.config.registry import describe, load, names
from ebmbench.core.meter import Meter
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.samplers import langevin
from ebmbench.samplers.common.choice import parse
from tests.conftest import binary_facts, gaussian_facts
from tests.contracts.examples import example_network

SAMPLERS = names("samplers")
pytestmark = pytest.mark.usefixtures("untouched_global_generator")


def energy(x: torch.Tensor) -> torch.Tensor:
    """A standard normal; on spins, fair coins: mean 0 and variance 1 too."""
    return 0.5 * x.flatten(1).square().sum(1)


class Coins:
    """Fair coins 0 and 1 as a Boltzmann machine."""

    sweep_passes = 1

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return 0 * x.flatten(1).sum(1)

    def gibbs(self, x: torch.Tensor, generator: torch.Generator, beta: Any = 1.0) -> torch.Tensor:
        return (torch.rand(x.shape, generator=generator) < 0.5).to(x.dtype)

    def free_energy(self, x: torch.Tensor, beta: Any = 1.0) -> torch.Tensor:
        return self(x)


def energy_of(name: str) -> Any:
    return Coins() if states(name) == "binary" else energy


def states(name: str) -> str:
    """What a sampler moves: `real` vectors, `images` alone, `spins` in {−1, +1}, or `binary` units in {0, 1}."""
    return getattr(load("samplers", name), "EXAMPLE_STATES", "real")


def starts(name: str, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    shape = (shape[0], 1, 1, shape[1]) if states(name) == "images" and len(shape) == 2 else shape
    x = torch.randn(shape, generator=stream(0, "x"), dtype=dtype)
    low = {"spins": -1.0, "binary": 0.0}.get(states(name))
    return x if low is None else torch.where(x > 0, 1.0, low).to(dtype)


def example(name: str) -> Any:
    """A few short steps."""
    module = load("samplers", name)
    return module.Settings(**module.EXAMPLE)


def run(name: str, x: torch.Tensor, seed: int = 0):
    return example(name).run(energy_of(name), x, stream(seed, "chain"))


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("shape", [(6, 2), (6, 1, 3, 3)])
def test_chains_keep_their_shape_and_carry_no_gradient(name: str, shape: tuple[int, ...]) -> None:
    x = starts(name, *shape)
    before = x.clone()
    chain = run(name, x)
    assert (chain.x.shape, chain.x.dtype) == (x.shape, x.dtype)
    assert not chain.x.requires_grad
    assert torch.equal(x, before)
    assert not torch.equal(chain.x, x)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_stream_alone_decides(name: str) -> None:
    x = starts(name, 6, 2)
    assert torch.equal(run(name, x).x, run(name, x).x)
    assert not torch.equal(run(name, x).x, run(name, x, seed=1).x)


@pytest.mark.parametrize("name", SAMPLERS)
def test_diagnostics_are_finite_scalars(name: str) -> None:
    found = run(name, starts(name, 6, 2)).diagnostics
    assert found
    assert all(value.shape == () and torch.isfinite(value) for value in found.values())
    assert all(0 <= found[key] <= 1 for key in ("acceptance", "flips") if key in found)


@pytest.mark.parametrize("name", SAMPLERS)
def test_nothing_of_the_chain_stays_in_the_graph_of_the_loss(name: str) -> None:
    meter = Meter(example_network("mlp"))
    if states(name) == "binary":
        models = load("models", "rbm")
        meter = Meter(models.Model(models.Settings(hidden=2), binary_facts(2)).initialise(stream(0, "weights")))
    chain = example(name).run(meter, starts(name, 6, 2), stream(0, "chain"))
    before = meter.counts.passes
    meter.backward(meter(chain.x).sum())
    assert meter.counts.passes - before == 12
    assert not [key for key, value in chain.diagnostics.items() if value.requires_grad]


@pytest.mark.parametrize("name", SAMPLERS)
def test_fitting_the_settings_is_scaling_and_shifting_the_data(name: str) -> None:
    settings = example(name)
    # A warp mixes pixels: it commutes with a shift that is the same for all of them.
    facts = replace(gaussian_facts(2, scale=3.0), mean=[6.0, 6.0] if states(name) == "images" else [6.0, -3.0])
    if states(name) in ("spins", "binary"):
        assert settings.fit_to(facts) == settings
        return
    mean = torch.tensor(facts.mean, dtype=torch.float64)
    x = starts(name, 6, 2, dtype=torch.float64)
    plain = settings.run(energy, x, stream(0, "chain")).x
    wide = settings.fit_to(facts).run(lambda y: energy((y - mean) / 3.0), mean + 3.0 * x, stream(0, "chain")).x
    torch.testing.assert_close(wide, mean + 3.0 * plain)


@pytest.mark.parametrize("name", [name for name in SAMPLERS if states(name) in ("real", "images")])
def test_it_says_whether_a_score_without_an_energy_is_enough_for_it(name: str) -> None:
    class Slope:
        def score(self, x: torch.Tensor, create_graph: bool = False) -> torch.Tensor:
            return -x

    x = starts(name, 6, 2)
    if load("samplers", name).Settings.needs_energy:
        with pytest.raises(TypeError, match="not callable"):
            example(name).run(Slope(), x, stream(0, "chain"))
    else:
        torch.testing.assert_close(example(name).run(Slope(), x, stream(0, "chain")).x, run(name, x).x)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_target_stays_in_place(name: str) -> None:
    module, x = load("samplers", name), starts(name, 20_000, 2, dtype=torch.float64)
    if module.STATIONARY is None:
        pytest.skip("its file says that no target stays in place")
    chain = module.Settings(**module.STATIONARY).run(energy_of(name), x, stream(0, "chain"))
    ends = 2 * chain.x - 1 if states(name) == "binary" else chain.x
    assert ends.mean(0).abs().max() < 0.03
    assert (ends.var(0) - 1).abs().max() < 0.04


@pytest.mark.parametrize("name", SAMPLERS)
def test_settings_come_back_from_plain_values(name: str) -> None:
    settings = example(name)
    assert parse(settings.model_dump(), "params.yaml", "sampling") == settings
    fitted = settings.fit_to(gaussian_facts(2, scale=3.0))
    assert parse(fitted.model_dump(), "params.yaml", "sampling") == fitted
    assert parse({"kind": name}, "params.yaml", "sampling").temperature == 1


@pytest.mark.parametrize("name", SAMPLERS)
def test_it_cites_a_paper_and_is_called_by_its_name(name: str) -> None:
    assert len(describe("samplers", name).paper) > 20
    assert load("samplers", name).Settings().kind == name


@pytest.mark.parametrize(
    "name", ["mala", "hmc", "langevin", "momentum", "annealed_langevin", "elastic_langevin", "augmented_langevin"]
)
def test_a_sampler_that_follows_the_gradient_says_how_large_it_was(name: str) -> None:
    found = run(name, starts(name, 6, 2)).diagnostics
    assert {"gradient_norm", "last_gradient_norm"} <= set(found)
    assert ("acceptance" in found) == (name in ("mala", "hmc"))


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"kind": "malla"}, f"sampling.sampler.kind: found 'malla', allowed: {', '.join(SAMPLERS)}"),
        ({"kind": "gibbs", "step_size": 0.1}, "sampling.sampler.step_size: found an unknown key"),
        ({"kind": "mala", "target_acceptance": 1.5}, "sampling.sampler.target_acceptance: found 1.5, allowed: less"),
        (
            {"kind": "annealed_langevin", "sigma_max": 0.01},
            "sampling.sampler.sigma_min: found 0.05, allowed: at most sigma_max, which is 0.01",
        ),
    ],
)
def test_a_wrong_section_is_one_clear_line(section: dict[str, object], words: str) -> None:
    with pytest.raises(UserError) as error:
        parse(section, "params.yaml", "sampling")
    assert str(error.value).startswith(f"params.yaml: {words}")


@pytest.mark.parametrize(
    ("name", "more", "key"),
    [
        ("gibbs", {}, "sampler.kind: found gibbs"),
        ("block_gibbs", {}, "sampler.kind: found block_gibbs for an energy without Gibbs sweeps"),
        ("elastic_langevin", {}, "sampler.kind: found elastic_langevin for events .2., allowed: for images"),
        ("augmented_langevin", {}, "sampler.kind: found augmented_langevin for events .2., allowed: for images"),
        ("annealed_langevin", {"denoise": True}, "sampler.denoise: found true"),
        ("independence", {"centre": [0.0]}, "sampler.centre: found 1 numbers, allowed: 2"),
    ],
)
def test_what_does_not_fit_the_energy_or_the_chains_is_refused(name: str, more: dict[str, object], key: str) -> None:
    with pytest.raises(UserError, match=key):
        load("samplers", name).Settings(**more).run(energy, torch.full((4, 2), 0.5), stream(0, "chain"))


@pytest.mark.parametrize("model", ["noise_mlp", "score_mlp"])
@pytest.mark.parametrize("denoise", [False, True])
def test_annealed_langevin_asks_a_conditional_network_for_its_levels(model: str, denoise: bool) -> None:
    models, settings = load("models", model), load("samplers", "annealed_langevin").Settings(steps=2, denoise=denoise)
    network = models.Model(models.Settings(width=8), gaussian_facts(2)).initialise(stream(0, "weights"))
    meter, x = Meter(network), starts("annealed_langevin", 6, 2)
    chain = settings.run(meter, x, stream(0, "chain"))
    assert torch.equal(chain.x, settings.run(network, x, stream(0, "chain")).x)
    assert torch.isfinite(chain.x).all()
    assert not chain.x.requires_grad
    assert meter.counts.passes == (2 * 10 + denoise) * 6 * (1 if model == "score_mlp" else 2)


def test_mala_leaves_a_steep_slope_instead_of_freezing_there() -> None:
    steep = torch.full((100, 2), 50.0, dtype=torch.float64)
    settings = load("samplers", "mala").Settings(steps=300, step_size=0.5)
    quartic = settings.run(lambda x: x.pow(4).sum(1), steep, stream(0, "chain"))
    assert quartic.x.norm(dim=1).max() < 10


def test_clipped_langevin_moves_no_further_than_its_limit_and_stays_in_its_box() -> None:
    x = torch.full((5, 3), 0.9)
    settings = langevin.Settings(steps=1, step_size=2.0, noise_std=0.0, clip=0.1, box=1.0)
    steep = settings.run(lambda z: -100 * z.sum(1), x, stream(0, "chain")).x
    assert torch.allclose(steep, torch.full((5, 3), 1.0))
    back = settings.run(lambda z: 100 * z.sum(1), x, stream(0, "chain")).x
    assert torch.allclose(back, torch.full((5, 3), 0.8))


def test_a_score_network_with_a_forward_of_its_own_is_asked_for_its_score() -> None:
    class Field(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return -x

        def score(self, x: torch.Tensor, create_graph: bool = False) -> torch.Tensor:
            return self(x)

    meter, x = Meter(Field(), seen=[]), torch.ones(5, 2)
    assert torch.equal(meter.score(x), -x)
    assert meter.counts.passes == 5
    assert torch.equal(
        langevin.Settings(steps=1, step_size=1.0, noise_std=0.0).run(meter, x, stream(0, "c")).x, 0.5 * x
    )


def test_a_module_with_something_called_fixed_is_an_energy_like_any_other() -> None:
    class Mine(torch.nn.Module):
        fixed = True

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return energy(x)

    x = torch.ones(5, 2)
    for kind in ("langevin", "mala", "hmc", "annealed_langevin"):
        example(kind).run(Mine(), x, stream(0, "c"))
    assert torch.equal(x, torch.ones(5, 2))

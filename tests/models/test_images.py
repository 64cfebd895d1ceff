"""Networks for images: sizes, what spectral normalisation changes and when."""

import copy

import pytest
import torch

from ebmbench.config.registry import load
from ebmbench.config.sections import Training
from ebmbench.core.meter import Meter
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.models import convnet, tiny, unet
from ebmbench.models.common import spectral
from ebmbench.models.common.convolutional import convolution, draw_weights
from ebmbench.models.common.spectral import Spectral
from ebmbench.samplers.langevin import langevin
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer
from tests.images import image_facts, images

pytestmark = pytest.mark.usefixtures("untouched_global_generator")
SIZES = {"A": (1, 28, 28), "B": (3, 32, 32), "C": (3, 32, 32)}


def test_tiny_has_the_weights_it_says() -> None:
    network = tiny.Model(tiny.Settings(), image_facts((1, 28, 28)))
    assert sum(p.numel() for p in network.parameters()) == 76_993


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 64, 64)])
def test_tiny_takes_every_size(shape: tuple[int, int, int]) -> None:
    network = tiny.Model(tiny.Settings(), image_facts(shape)).initialise(stream(0, "weights"))
    assert network(images(3, shape)).shape == (3,)


@pytest.mark.parametrize(("variant", "shape"), list(SIZES.items()))
def test_the_convnets_are_those_of_the_table(variant: str, shape: tuple[int, int, int]) -> None:
    network = convnet.Model(convnet.Settings(variant=variant), image_facts(shape)).initialise(stream(0, "weights"))
    layers = [wrapped.layer for wrapped in network.convolutions]
    assert [layer.out_channels for layer in layers] == [64, 128, 256, 512 if variant == "C" else 256, 1024]
    assert [layer.kernel_size[0] for layer in layers] == [3, 4, 4, 3 if variant == "A" else 4, 4]
    assert [layer.stride[0] for layer in layers] == [1, 2, 2, 2, 1]
    assert [wrapped.layer.out_features for wrapped in network.linears] == (
        [512, 256, 1] if variant == "C" else [512, 1]
    )
    # The last convolution reads the whole image: one number a channel is left.
    assert network.linears[0].layer.in_features == 1024
    assert all(isinstance(layer, Spectral) for layer in [*network.convolutions, *network.linears])
    assert network(images(2, shape)).shape == (2,)


def test_convnets_take_larger_images_and_refuse_smaller_ones() -> None:
    large = convnet.Model(convnet.Settings(variant="C", width=0.05), image_facts((3, 64, 64)))
    assert large.initialise(stream(0, "weights"))(images(2, (3, 64, 64))).shape == (2,)
    with pytest.raises(UserError, match="28×28 or larger"):
        convnet.Model(convnet.Settings(variant="A"), image_facts((1, 8, 8)))


def small(variant: str = "B", shape: tuple[int, int, int] = (3, 32, 32)) -> convnet.Model:
    return convnet.Model(convnet.Settings(variant=variant, width=0.1), image_facts(shape)).initialise(stream(0, "w"))


def test_normalised_weights_have_norm_one() -> None:
    for wrapped in [*(network := small()).convolutions, *network.linears]:
        matrix = wrapped.layer.weight.detach().flatten(1)
        found = float(torch.linalg.matrix_norm(matrix, ord=2) / (wrapped.u @ matrix @ wrapped.v))
        assert found == pytest.approx(1.0, abs=0.05)


def test_the_energy_is_the_same_before_and_after_a_chain() -> None:
    """Power iterations belong to training steps: a chain of any length, forwards and gradients, changes nothing."""
    network, x = small(), images(4, (3, 32, 32))
    state, before = copy.deepcopy(network.state_dict()), network(x)
    langevin(Meter(network), x, 5, 1.0, 0.01, stream(0, "chain"))
    assert torch.equal(network(x), before)
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    network.renew()
    assert not all(torch.equal(value, state[name]) for name, value in network.state_dict().items())


def test_a_training_step_takes_one_power_iteration_and_the_end_finds_the_norm_anew() -> None:
    facts, module = image_facts((3, 32, 32)), load("methods", "mle")
    sampler = {"kind": "langevin", "steps": 3, "step_size": 1.0, "noise_std": 0.005}
    settings = module.Settings(model="convnet", sampler=sampler, buffer=8, learning_rate=1e-3)
    training = Training(budget=10_000, batch_size=4, rows=2, ema=0.9)
    job = Job("mle", settings, {}, 0, training, convnet.Settings(width=0.05), facts)
    trainer = Trainer(job, images(16, (3, 32, 32)))
    by_hand = copy.deepcopy(trainer.model)
    trainer._update()
    by_hand.renew()
    assert all(torch.equal(a, b) for a, b in zip(uv(trainer.model), uv(by_hand), strict=True))
    trainer.finish()
    for wrapped in trainer.model.convolutions:
        matrix = wrapped.layer.weight.detach().flatten(1)
        assert float(wrapped.u @ matrix @ wrapped.v) == pytest.approx(spectral.weight_norm(wrapped.layer), rel=0.02)


def uv(network: convnet.Model) -> list[torch.Tensor]:
    return [tensor for name, tensor in network.named_buffers() if name.rsplit(".")[-1] in "uv"]


def test_the_gradient_goes_through_the_norm() -> None:
    """W and 3W are the same normalised layer, so the slope along W itself is zero."""
    layer = Spectral(convolution(2, 3, 3, padding=1)).double()
    draw_weights(layer, stream(0, "weights"))
    layer.initialise(stream(0, "u"))
    x = images(2, (2, 6, 6)).double()
    weight = layer.layer.weight
    (gradient,) = torch.autograd.grad(layer(x).square().sum(), weight)
    along = float((gradient * weight.detach()).sum())
    assert gradient.abs().max() > 1e-3
    assert along == pytest.approx(0.0, abs=1e-9)


def test_the_norm_of_the_reshaped_kernel_does_not_bound_the_convolution() -> None:
    """The usual spectral norm is not the operator's: with a constant kernel the convolution stretches threefold."""
    layer = convolution(1, 1, 3, padding=1)
    torch.nn.init.constant_(layer.weight, 1 / 3)
    operator = spectral.operator_norm(layer, (32, 32), stream(0, "operator"))
    assert spectral.weight_norm(layer) == pytest.approx(1.0)
    # A box filter of sum 3 on a large image: 3·cos²(π/(2·33))-like, just below 3.
    assert 2.9 < operator < 3.0


def test_the_operator_norm_is_that_of_the_matrix() -> None:
    layer = convolution(2, 3, 4, stride=2, padding=1)
    draw_weights(layer, stream(0, "weights"))
    torch.nn.init.zeros_(layer.bias)
    basis = torch.eye(2 * 6 * 6).reshape(-1, 2, 6, 6)
    matrix = layer(basis).detach().flatten(1).double()
    expected = float(torch.linalg.matrix_norm(matrix, ord=2))
    assert spectral.operator_norm(layer, (6, 6), stream(0, "operator")) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("patch", [1, 2])
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32)])
def test_the_unet_gives_a_score_of_the_images_shape(shape: tuple[int, int, int], patch: int) -> None:
    network = (
        unet.Model(unet.Settings(width=8, patch=patch), image_facts(shape)).initialise(stream(0, "weights")).double()
    )
    torch.nn.init.normal_(network.leave.weight, generator=stream(0, "leave"))
    x, sigma = images(3, shape).double(), torch.tensor([0.1, 0.5, 2.0])
    s = network.given(sigma).score(x)
    assert s.shape == x.shape
    assert not s.requires_grad
    alone = torch.cat([network.given(float(level)).score(one[None]) for level, one in zip(sigma, x, strict=True)])
    assert torch.allclose(s, alone, rtol=1e-5)


def test_the_unet_refuses_a_patch_that_does_not_divide_the_image() -> None:
    with pytest.raises(UserError, match=r"models\.unet\.patch = 3: must divide both sides of images of 28×28"):
        unet.Model(unet.Settings(width=8, patch=3), image_facts((1, 28, 28)))


def test_a_network_for_images_refuses_points() -> None:
    from tests.conftest import gaussian_facts

    for module in (tiny, convnet, unet):
        with pytest.raises(UserError, match=r"allowed: images \(C, H, W\)"):
            module.Model(module.Settings(), gaussian_facts(2))


def test_confinement_is_a_quadratic() -> None:
    plain, confined = (
        tiny.Model(tiny.Settings(confinement=kappa), image_facts()).initialise(stream(0, "weights"))
        for kappa in (0.0, 2.0)
    )
    x = images(2)
    assert torch.allclose(confined(x) - plain(x), 2 * x.flatten(1).square().sum(1), rtol=1e-4)

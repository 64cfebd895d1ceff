"""The multi-scale energy: a sum of networks, the coarse ones of which see averages alone."""

import torch
from torch import Tensor

from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.models.common.residual import halve
from ebmbench.models.multiscale import Model, Settings


def make(shape: tuple[int, ...] = (1, 8, 8), confinement: float = 0.0) -> tuple[Model, Tensor]:
    x = torch.randn(5, *shape, generator=stream(0, "x"), dtype=torch.float64)
    facts = Facts.of("images", x.numpy(), x.numpy(), licence="", hash="")
    settings = Settings(width=3, stages=1, scales=3, confinement=confinement)
    return Model(settings, facts).initialise(stream(0, "weights")).double(), x


def test_it_is_the_sum_of_its_networks_on_averages() -> None:
    model, x = make(confinement=0.2)
    halved = x.reshape(5, 1, 4, 2, 4, 2).mean((3, 5))
    quartered = x.reshape(5, 1, 2, 4, 2, 4).mean((3, 5))
    parts = [network(one) for network, one in zip(model.networks, (x, halved, quartered), strict=True)]
    torch.testing.assert_close(model(x), sum(parts) + 0.2 * x.square().sum((1, 2, 3)), rtol=0, atol=1e-12)


def test_detail_that_averages_away_moves_the_fine_network_only() -> None:
    model, x = make()
    detail = torch.tensor([[1.0, -1.0], [-1.0, 1.0]]).double().repeat(4, 4)
    torch.testing.assert_close(model(x + detail) - model(x), model.networks[0](x + detail) - model.networks[0](x))
    assert float((model(x + detail) - model(x)).detach().abs().min()) > 1e-6


def test_odd_sides_are_rounded_up_and_a_pixel_stays() -> None:
    assert halve(torch.ones(1, 1, 7, 5)).shape == (1, 1, 4, 3)
    torch.testing.assert_close(halve(torch.ones(1, 1, 7, 5)), torch.ones(1, 1, 4, 3))  # edges are averages, too
    assert halve(torch.ones(1, 1, 1, 1)).shape == (1, 1, 1, 1)
    model, x = make((1, 3, 3))
    assert model(x).isfinite().all()

"""Multi-scale energy: the sum of ConvNets that see the image whole, halved, quartered, …

    E(x) = Σ_k E_k(x averaged over 2^k × 2^k pixels),   k = 0 … scales − 1,

so p is the product of what each of them allows. The coarse ones learn first where images are at all, and keep chains
there (Du et al. 2021; Gagnon & Lajoie 5.2.1). Each E_k is a residual network of its own. `confinement` κ adds κ‖x‖².
"""

from typing import Self

from pydantic import Field
from torch import Generator, Tensor, nn

from ebmbench.core.dataset import Facts
from ebmbench.models.common.convolutional import draw_weights, image_shape
from ebmbench.models.common.residual import ResidualNetwork, ResidualSettings, halve

PAPER = "Du, Li, Tenenbaum & Mordatch, Improved Contrastive Divergence Training of Energy-Based Models, ICML 2021"
YEAR = 2021
LINK = "https://proceedings.mlr.press/v139/du21b.html"
EXAMPLE = {"width": 4, "stages": 1, "scales": 2, "confinement": 0.3}
EXAMPLE_SHAPE = (1, 8, 8)


class Settings(ResidualSettings):
    """`params.yaml: models.multiscale`."""

    scales: int = Field(3, ge=1, description="networks, each on images half as wide as the one before")


class Model(nn.Module):
    """The energy `(B, C, H, W) -> (B,)`."""

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__()
        channels = image_shape(facts, "multiscale")[0]
        self.networks = nn.ModuleList(ResidualNetwork(settings, channels) for _ in range(settings.scales))
        self.confinement = settings.confinement

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights from one named stream."""
        draw_weights(self, generator)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        value = self.confinement * x.flatten(1).square().sum(1)
        for network in self.networks:
            value = value + network(x)
            x = halve(x)
        return value

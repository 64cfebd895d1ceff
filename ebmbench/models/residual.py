"""Residual ConvNet energy: blocks with a direct way, halved in between, and one number at the end.

Deeper than `tiny` and trained as easily; the networks for complex images in Gagnon & Lajoie 5.2 are of this kind, with
attention too, which is left out here. `confinement` κ adds κ‖x‖², which makes Z finite on all of space.
"""

from typing import Self

from torch import Generator, Tensor, nn

from ebmbench.core.dataset import Facts
from ebmbench.models.common.convolutional import draw_weights, image_shape
from ebmbench.models.common.residual import ResidualNetwork, ResidualSettings

PAPER = (
    "He, Zhang, Ren & Sun, Deep Residual Learning for Image Recognition, CVPR 2016; as an energy: Du & Mordatch 2019"
)
YEAR = 2016
LINK = ("https://arxiv.org/abs/1512.03385", "https://arxiv.org/abs/1903.08689")
EXAMPLE = {"width": 4, "stages": 2, "confinement": 0.3}
EXAMPLE_SHAPE = (1, 8, 8)


class Settings(ResidualSettings):
    """`params.yaml: models.residual`."""


class Model(nn.Module):
    """The energy `(B, C, H, W) -> (B,)`."""

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__()
        self.network = ResidualNetwork(settings, image_shape(facts, "residual")[0])
        self.confinement = settings.confinement

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights from one named stream."""
        draw_weights(self, generator)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        value: Tensor = self.network(x)
        return value + self.confinement * x.flatten(1).square().sum(1) if self.confinement else value

"""The benchmark's exact KL of models in the plane, for claims whose models may have mass beyond every grid."""

from functools import cached_property

from torch import nn

from ebmbench.config.sections import Metrics
from ebmbench.core.energy import Energy
from ebmbench.experiment.data import Data
from ebmbench.metrics import kl
from ebmbench.metrics.common.evaluation import Evaluation, Subject
from ebmbench.metrics.common.quadrature import Quadrature, integrate


class Widest(Evaluation):
    """An evaluation on the widest grid, even if some of the model's mass lies beyond it."""

    @cached_property
    def grid(self) -> Quadrature:
        """The smallest grid that holds the mass, or the largest there is."""
        return integrate(self.energy, self.facts, self.settings.cells)


def divergence(energy: nn.Module | Energy, data: Data, cells: int = 256) -> float:
    """KL(data‖model); where the model has mass beyond the widest grid, the true one is larger."""
    value = kl.compute(Widest(Subject(energy, None), data.test, data.density, data.facts, Metrics(cells=cells))).value
    assert value is not None
    return value

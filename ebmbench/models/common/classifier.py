"""A classifier as an energy: its K logits f give E(x) = −log Σ_y exp f_y(x), and E(x|y) = −f_y(x) for a class.

p(y|x) is the softmax of f, which no function of x alone that is added to all logits can change: the energy uses the
freedom that the classifier leaves. Grathwohl et al. (2020). With one class the energy is that of the network itself.
"""

from typing import Any, Self

from torch import Generator, Tensor, nn

from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, fixed, marginal


class Classifier(nn.Module):
    """The energy `(B, *event) -> (B,)` of a network that gives `joint(x)`, the energies E(x, y) = −f_y(x)."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def initialise(self, generator: Generator) -> Self:
        """Draw all weights from one named stream."""
        self.network.initialise(generator)
        return self

    def logits(self, x: Tensor) -> Tensor:
        """f(x), `(B, K)`."""
        joint: Tensor = self.network.joint(x)
        return -joint

    def forward(self, x: Tensor) -> Tensor:
        """E(x)."""
        return marginal(self.logits(x))

    def of_classes(self, labels: Tensor) -> Energy:
        """E(x|y), where each event has its own class, `(B,)`."""
        return lambda x: -self.logits(x).gather(1, labels[:, None]).squeeze(1)

    def fixed(self) -> Energy:
        """The same energy with today's weights, for a chain."""
        return fixed(self.network)

    def renew(self) -> None:
        """Called before each training step, for a network that changes once a step."""
        getattr(self.network, "renew", lambda: None)()

    def settle(self) -> None:
        """Called when averaged weights take the place of the trained ones."""
        getattr(self.network, "settle", lambda: None)()


class WithClasses:
    """A network of which a classifier can be made: its third argument is the number of outputs of its last layer."""

    @classmethod
    def classifier(cls, settings: Any, facts: Facts) -> Classifier:
        """A classifier with an output for each class of the data."""
        network: Any = cls
        return Classifier(network(settings, facts, len(facts.classes)))

    def joint(self, x: Tensor) -> Tensor:
        """The outputs `(B, K)`."""
        raise NotImplementedError

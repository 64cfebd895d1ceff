"""Deep belief network: a restricted Boltzmann machine on the hidden units of another, which then only points downwards.

    p(v) = Σ_{h¹} p(v | h¹) p(h¹),     p(v_i = 1 | h¹) = σ(b_i + W¹_i: h¹),     p(h¹) of the top machine (W², a, c²).

Greedy (Hinton, Osindero & Teh 2006): first W¹ learns as a machine of its own. Then the top machine starts at W² = W¹ᵀ
with the biases swapped, where the network *is* the first machine, and learns on h¹ of the data while W¹ stays. So the
second hidden layer has as many units as an event. It is sampled by Gibbs sweeps in the top machine, then one pass down.

With Q(h¹) = ∏ σ(c¹ + vW¹), means μ, the energy of an event is minus a bound of log Σ_{h¹} p(v | h¹) exp(−F_top(h¹)):

    −E(v) = −F_top(μ) + E_Q log p(v | h¹) + H(Q).

−F_top is convex, so its value at μ is no more than its mean. The mean of log(1 + e^a) in the second term is bounded
from above by a quadratic in a (Jaakkola & Jordan 2000), tight at ξ² = E a²: (E a − ξ)/2 + log(1 + e^ξ).
`sampled_bound` draws h¹ instead, and is tighter. Differs from the paper: means μ are the data of the second layer, and
there is no up-down fine-tuning.
"""

import torch
from torch import Generator, Tensor, nn

from ebmbench.core.binary import draw_units, log_one_plus_exp
from ebmbench.core.dataset import Facts
from ebmbench.models.common.bipartite import Bipartite
from ebmbench.models.common.deep import DeepModel, DeepSettings, entropy

PAPER = "Hinton, Osindero & Teh, A Fast Learning Algorithm for Deep Belief Nets, Neural Computation 18(7), 2006"
YEAR = 2006
LINK = "https://doi.org/10.1162/neco.2006.18.7.1527"
EXAMPLE = {"hidden": 4}
EXAMPLE_STATES = "binary"


class Settings(DeepSettings):
    """`params.yaml: models.dbn`."""


class Model(DeepModel):
    """The variational energy `(B, *event) -> (B,)`."""

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__("dbn", settings, facts, top=len(facts.mean))
        self.middle_bias = nn.Parameter(torch.zeros(settings.hidden))  # a, of h¹ in the top machine

    def _put_on_top(self) -> None:
        self.top_weight.copy_(self.weight.mT)
        self.top_bias.copy_(self.visible_bias)
        self.middle_bias.copy_(self.hidden_bias)

    def machine(self) -> Bipartite:
        """The top machine."""
        return Bipartite(self.top_weight, self.middle_bias, self.top_bias)

    def variational(self, v: Tensor) -> Tensor:
        """E(v); in the graph of the top machine's weights alone, for the first layer stays as it is."""
        weight, b, c = (part.detach() for part in self.first)
        logits = torch.addmm(c, v, weight)
        mu = logits.sigmoid()
        mean = torch.addmm(b, mu, weight.mT)
        xi = (mean.square() + (mu * (1 - mu)) @ weight.mT.square()).sqrt()
        expected = torch.linalg.vecdot(v, mean) - (0.5 * (mean - xi) + log_one_plus_exp(xi)).sum(1)
        return self.machine().free_energy(mu) - expected - entropy(logits)

    @torch.no_grad()
    def sampled_bound(self, x: Tensor, generator: Generator) -> Tensor:
        """−E(v) with one draw of h¹ ~ Q for each event: its mean is a bound, and tighter than the energy's, `(B,)`."""
        v = x.flatten(1)
        if int(self.stage) == 0:
            return -self.first(v)
        logits = torch.addmm(self.hidden_bias, v, self.weight)
        h = draw_units(logits.sigmoid(), generator)
        inputs = torch.addmm(self.visible_bias, h, self.weight.mT)
        log_p = torch.linalg.vecdot(v, inputs) - log_one_plus_exp(inputs).sum(1)
        return -self.machine().free_energy(h) + log_p + entropy(logits)

    @torch.no_grad()
    def gibbs(self, x: Tensor, generator: Generator, beta: float | Tensor = 1.0) -> Tensor:
        """A sweep of the top machine, then one pass down; in stage 0 a sweep of the first."""
        rows = self.complete(x, generator)
        if int(self.stage) == 0:
            h = draw_units(self.first.hidden(rows[:, : self.visible], beta), generator)
            return torch.cat([draw_units(self.first.visible(h, beta), generator), h], dim=1)
        h = self.machine().gibbs(self.layer(rows), generator, beta)
        return torch.cat([draw_units(self.first.visible(h), generator), h], dim=1)

"""Joint energy model: a classifier whose logits are also an energy, trained to classify and to generate at once.

With logits f `(B, K)`, E(x) = −log Σ_y exp f_y(x) and log p(x, y) = log p(y|x) + log p(x):

    L = mean −log softmax(f(x⁺))_y + w · (mean E(x⁺) − mean E(x⁻))   (+ w·α · mean(E(x⁺)² + E(x⁻)²), off by default).

The second term is the loss of `mle`, with chains in a buffer of which a fraction restarts from noise. With w = 0 it is
a plain classifier, which needs no chains; with one class it is `mle`. Grathwohl et al. (2020); Beigy (2024), Hybrid
Modeling. Differs from the paper: any network with a logit for each class instead of a Wide-ResNet, and valid samplers
are possible (the paper's Langevin steps are 1 with noise 0.01); the penalty is that of Du & Mordatch (2019); the buffer
holds 1000 chains by default (paper: 10 000, 5 % restart), and its drawn chains are replaced by their own ends.
"""

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ebmbench.core import method
from ebmbench.core.contrastive import contrast
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import marginal
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.samplers import mala
from ebmbench.samplers.common.buffer import Buffer
from ebmbench.samplers.common.chain import Chain
from ebmbench.samplers.common.choice import Sampler

PAPER = "Grathwohl, Wang, Jacobsen, Duvenaud, Norouzi & Swersky, Your Classifier is Secretly an EBM, ICLR 2020"
YEAR = 2020
LINK = "https://arxiv.org/abs/1912.03263"
REMARK = "It learns the labels too, which no other method sees: E(x) = −log Σ exp of the logits of a classifier."
EXAMPLES = [{"weight": 0.0}, {"energy_penalty": 0.1}]
RECOVERY = {"sampler": {"kind": "mala", "steps": 3, "step_size": 0.5}, "buffer": 1024, "rejuvenation": 0.0}


def joint_likelihood(
    logits: Tensor, labels: Tensor, weight: float, penalty: float = 0.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of logits `(B + M, K)` of B data, whose labels are given, and then of M negatives; and its parts."""
    count = len(labels)
    classification = cross_entropy(logits[:count], labels)
    correct = (logits[:count].argmax(1) == labels).float().mean()
    parts = {"cross_entropy": classification.detach(), "batch_accuracy": correct}
    if not weight:
        return classification, parts
    energies = marginal(logits)
    loss, gap = contrast(energies[:count], energies[count:], penalty)
    return classification + weight * loss, {"energy_gap": gap, **parts}


class Settings(method.Settings):
    """`params.yaml: methods.jem`."""

    learning_rate: float = Field(2e-2, gt=0)
    sampler: Sampler = mala.Settings(steps=10, step_size=0.4)
    weight: float = Field(1.0, ge=0, description="w, of the likelihood of x; 0 trains a classifier alone")
    buffer: int = Field(1000, ge=1, description="persistent chains")
    rejuvenation: float = Field(0.1, ge=0, le=1, description="fraction of drawn chains that restart from noise")
    energy_penalty: float = Field(0.0, ge=0, description="α")


class Method(method.Method):
    """Keeps the persistent chains."""

    settings: Settings
    needs_labels = True
    no_binary = "no network here gives a logit for each class of binary data"

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.sampler = settings.sampler.fit_to(facts)
        self.buffer = Buffer(settings.buffer if settings.weight else 0, facts.shape)

    def initialise(self, draw: Draw, network: nn.Module) -> "Method":
        """All chains start from noise."""
        self.buffer.start_from_noise(self.facts, draw, network)
        return self

    def forward(self, energy: Meter, x: Tensor, draw: Draw, labels: Tensor) -> Tensor:  # type: ignore[override]
        """One batch with its labels against the samples of chains."""
        events, columns = x, {}
        if self.settings.weight:
            chain = self._chain(energy, x, draw)
            events, columns = torch.cat([x, chain.x]), chain.columns()
        loss, parts = joint_likelihood(
            energy.logits(events), labels, self.settings.weight, self.settings.energy_penalty
        )
        self.last = {**parts, **columns}
        return loss

    def _chain(self, energy: Meter, x: Tensor, draw: Draw) -> Chain:
        def move(starts: Tensor) -> Chain:
            return self.sampler.run(energy, starts, draw("chain"))

        fresh = self.facts.starts(len(x), draw("restart")).to(x.device)
        return self.buffer.advance(move, fresh, self.settings.rejuvenation, draw)

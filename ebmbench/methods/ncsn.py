"""Noise-conditional score matching: denoise at a ladder of levels with one network, then sample from wide to narrow.

For levels σ₁ > … > σ_L in geometric steps, x̃ = x + σε with a level drawn for each datum, and s the score of a
network conditioned on σ:

    L = mean σ² · ½‖s(x̃, σ) + ε/σ‖² = mean ½‖σ s(x̃, σ) + ε‖².

Samples come from annealed Langevin along the same ladder (`sampler`). The network is a noise-conditional energy
(`model: noise_mlp`) or a vector-valued score (`model: score_mlp`, the paper's). The density that is judged is that of
the whole ladder, by its probability-flow ODE (`metrics/common/flow.py`); it ends at σ_L, so at best it is the data
smoothed by σ_L. The score and, in `kl_narrowest`, the energy that are judged are those of σ_L alone.
Song & Ermon (2019); Amini 6. Differs from the paper: lengths are in units of the data's deviation. The paper's ε = 2e-5
multiplies the drift in its code; in the α/2 convention used here it is 4e-5. Steps, step size and levels are not the
paper's 100, 2e-5 and 10; a last denoising step follows the chains (`denoise: true`), which the paper of 2019 lacks.
"""

from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from ebmbench.core import method
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import score
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw, normal
from ebmbench.samplers import annealed_langevin

PAPER = "Song & Ermon, Generative Modeling by Estimating Gradients of the Data Distribution, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1907.05600"
REMARK = (
    "It learns scores of the data *smoothed* by noise of several deviations σ; the density that is judged is that of "
    "the probability-flow ODE through all of them, down to the narrowest: even a perfect fit has a KL above zero; "
    "`kl_target` compares with the data smoothed by the narrowest, `kl_narrowest` judges that level's energy alone."
)
REMARK_IF = {"sampler.denoise": "Its samples end with a denoising step, which is not in the paper and moves FID."}
EXAMPLES = [{"model": "score_mlp"}]


def noise_conditional_score_matching(energy: Any, x: Tensor, noise: Tensor, sigma: Tensor) -> Tensor:
    """The loss for data and standard normal noise `(B, *event)` at levels `(B,)`; `energy.given(sigma)` has a score."""
    wide = sigma.reshape(-1, *[1] * (x.dim() - 1))
    s = score(energy.given(sigma), x + wide * noise, create_graph=True)
    return 0.5 * (wide * s + noise).flatten(1).square().sum(1).mean()


class Settings(method.Settings):
    """`params.yaml: methods.ncsn`."""

    model: str = "noise_mlp"
    learning_rate: float = Field(1e-2, gt=0)
    sampler: annealed_langevin.Settings = annealed_langevin.Settings(
        steps=5, step_size=0.0005, sigma_max=1.0, sigma_min=0.03, levels=40, denoise=True
    )


class Method(method.Method):
    """Has no state beside the ladder."""

    settings: Settings
    no_binary = method.NO_SCORE
    ladder: Tensor

    def __init__(self, settings: Settings, facts: Facts) -> None:
        super().__init__(settings, facts)
        self.register_buffer("ladder", settings.sampler.fit_to(facts).ladder().float(), persistent=False)

    def forward(self, energy: Meter, x: Tensor, draw: Draw) -> Tensor:
        """One batch with fresh noise, each event at a level of its own."""
        level = torch.randint(len(self.ladder), (len(x),), generator=draw("level"))
        noise = normal(x, draw("noise"))
        return noise_conditional_score_matching(energy, x, noise, self.ladder.to(x.dtype)[level])

    @classmethod
    def judged(cls, settings: Settings, network: Any, facts: Facts) -> Any:
        """The narrowest level."""
        return network.given(settings.sampler.sigma_min * facts.unit)

    @classmethod
    def levels(cls, settings: Settings, facts: Facts) -> Tensor:
        """The ladder."""
        return settings.sampler.fit_to(facts).ladder()

    @classmethod
    def own_sampler(cls, settings: Settings) -> annealed_langevin.Settings:
        """Annealed Langevin along the ladder that was learned."""
        return settings.sampler

    @classmethod
    def target(cls, settings: Settings, density: Any, scale: float) -> Any:
        """The data's density smoothed by σ_L."""
        return density.smoothed(settings.sampler.sigma_min * scale)

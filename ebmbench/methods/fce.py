"""Flow-contrastive estimation: tell data from the noise of a flow that learns to be taken for data.

With log p_θ(x) = −E(x) − c, where c is learned, a flow q_φ and G = log p_θ − log q_φ:

    L = mean softplus(−G(x)) + mean softplus(G(y)),   y ~ q_φ,   min over θ and c, max over φ.

For any fixed flow it is nce: the optimum has p_θ = p_data and c = log Z. There the flow's objective is 2 log 2 minus
twice the Jensen–Shannon divergence of q_φ and the data, so the flow approaches the data too, and noise near the data is
what nce learns most from. Gao et al. (2020); Xu (2022) 3.1. Differs from the paper: small affine couplings in place of
Glow, and the flow starts as a Gaussian fitted to the data, not from a flow trained by likelihood.
"""

from pydantic import Field
from torch import Tensor

from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.methods.common.flow_noise import FlowNoise, FlowSettings, Noise

PAPER = "Gao, Nijkamp, Kingma, Xu, Dai & Wu, Flow Contrastive Estimation of Energy-Based Models, CVPR 2020"
YEAR = 2020
LINK = "https://arxiv.org/abs/1912.00589"
NOISE = "a flow that learns"
LEARNS_Z = True
ADVERSARIAL = True
EXAMPLES = [{"adversary_updates": 2, "couplings": 2}]
RECOVERY = {"couplings": 2, "adversary_width": 8}


class Settings(FlowSettings):
    """`params.yaml: methods.fce`."""

    learning_rate: float = Field(1e-2, gt=0)


class Method(FlowNoise):
    """All noise is the flow's."""

    settings: Settings

    def draw_noise(self, meter: Meter, x: Tensor, draw: Draw) -> Noise:
        """As many events as there are data."""
        y, log_q = self.flow.sample(meter, len(x), draw)
        return Noise(y, self.flow.explain(meter, x), log_q)

"""The contrast of data with a model's own samples: the gradient of the log-likelihood, as a loss.

The gradient of −log p_θ is ∇E(x⁺) − E_{x⁻~p_θ}[∇E(x⁻)]; with x⁻ from a sampler, held fixed, it is the gradient of
mean E(x⁺) − mean E(x⁻). Shared by the methods that differ only in where their chains start.
"""

import torch
from torch import Tensor

from ebmbench.core.energy import Energy


def contrastive(energy: Energy, x: Tensor, negatives: Tensor, penalty: float = 0.0) -> tuple[Tensor, Tensor]:
    """The loss for data and negatives, `(B, *event)` each, and the gap mean E(x⁻) − mean E(x⁺).

    Negatives are constants; they have another shape than data if chains carry hidden units along. `penalty` α adds
    α · mean(E(x⁺)² + E(x⁻)²) (Du & Mordatch 2019).
    """
    if negatives.shape[1:] == x.shape[1:]:
        both = energy(torch.cat([x, negatives.detach()]))
        on_data, on_negatives = both[: len(x)], both[len(x) :]
    else:
        on_data, on_negatives = energy(x), energy(negatives.detach())
    return contrast(on_data, on_negatives, penalty)


def contrast(on_data: Tensor, on_negatives: Tensor, penalty: float = 0.0) -> tuple[Tensor, Tensor]:
    """The same of energies that are known already."""
    loss = on_data.mean() - on_negatives.mean()
    gap = -loss.detach()
    if penalty:
        loss = loss + penalty * (on_data.square().mean() + on_negatives.square().mean())
    return loss, gap

"""The second player of methods that are a game: a network with an objective, a sign and an Adam of its own.

In each training step the adversary moves first, `updates` times, with the energy held fixed: its weights φ go up its
objective (`maximises`) or down. Then the energy learns against the adversary as it now is, held fixed in turn.

All of it is parameters and buffers, Adam's moments too, so it is in every checkpoint. At rest its weights ask for no
gradient, so the energy's optimiser and averages pass it by. Its passes are counted like those of the energy. An update
whose objective or gradient is not finite is not made; the watch of the run sees both and ends it.
"""

from collections.abc import Callable
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from ebmbench.core import method
from ebmbench.core.meter import Meter
from ebmbench.core.streams import Draw
from ebmbench.samplers.common.choice import Sampler

BETAS = (0.5, 0.999)  # less momentum than usual: the other player moves the target (Radford et al. 2016)

Objective = Callable[[Meter, Draw], Tensor]
"""The adversary's objective for the current batch: a scalar, through a meter of its own and streams of this update."""


class AdversarySettings(method.Settings):
    """The settings of a method with an adversary; a method adds its own."""

    sampler: Sampler | None = Field(None, description="how it is sampled under sampling.own; null: as the suite says")
    adversary_rate: float = Field(1e-3, gt=0, description="peak of the adversary's learning rate")
    adversary_updates: int = Field(1, ge=1, description="updates of the adversary per training step")
    adversary_width: int = Field(64, ge=1, description="units in each hidden layer of the adversary")


class Adversary(nn.Module):
    """A network that plays against the energy."""

    taken: Tensor

    def __init__(self, network: nn.Module, settings: AdversarySettings, maximises: bool) -> None:
        super().__init__()
        self.network = network.requires_grad_(False)
        self.rate, self.updates, self.maximises = settings.adversary_rate, settings.adversary_updates, maximises
        self.register_buffer("taken", torch.zeros(()))
        for number, weight in enumerate(network.parameters()):
            self.register_buffer(f"mean_{number}", torch.zeros_like(weight))
            self.register_buffer(f"square_{number}", torch.zeros_like(weight))

    def learn(self, energy: Meter, objective: Objective, draw: Draw, pace: float) -> dict[str, Tensor]:
        """Make the updates of one step, at `pace` times the rate; the last objective and gradient, for the history."""
        weights: list[Tensor] = list(self.network.requires_grad_(True).parameters())
        for update in range(self.updates):
            meter = energy.beside(energy.network)  # counts together, graphs apart
            value = objective(meter, lambda purpose, update=update: draw(f"{purpose} {update}"))  # type: ignore[misc]
            meter.backward(value, weights)
            gradients = [weight.grad for weight in weights if weight.grad is not None]
            norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
            if torch.isfinite(value.detach() + norm):
                self._move(weights, gradients, pace * self.rate)
            for weight in weights:
                weight.grad = None
        self.network.requires_grad_(False)
        return {"adversary_loss": value.detach(), "adversary_gradient_norm": norm}

    @torch.no_grad()
    def _move(self, weights: list[Tensor], gradients: list[Tensor], rate: float) -> None:
        """One step of Adam, by torch's own kernel."""
        self.taken += 1
        count, (beta1, beta2) = len(weights), BETAS
        means, squares = ([self.get_buffer(f"{name}_{i}") for i in range(count)] for name in ("mean", "square"))
        options: dict[str, Any] = {"weight_decay": 0.0, "eps": 1e-8, "amsgrad": False, "maximize": self.maximises}
        steps = [self.taken] * count
        torch._fused_adam_(weights, gradients, means, squares, [], steps, lr=rate, beta1=beta1, beta2=beta2, **options)

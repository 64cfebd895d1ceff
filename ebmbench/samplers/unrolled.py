"""A run of a sampler cut into consecutive parts, so that chains can be seen on their way.

The parts use one generator after another's end, so for samplers whose state is where the chains are (all here, unless a
step size adapts) the end of the last part is the end of the run in one go.
"""

from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from ebmbench.core.energy import Energy, conditional
from ebmbench.samplers.chain import Chain, SamplerSettings

MOMENTS = 12  # of a run that are shown
CHAINS = 8


@dataclass
class Film:
    """Some chains `(CHAINS, T, *event)` after the numbers of steps `(T,)`."""

    frames: list[Tensor] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def add(self, step: int, x: Tensor) -> None:
        """One more moment."""
        self.frames.append(x[:CHAINS].detach().cpu().clone())
        self.steps.append(step)

    def stacked(self) -> Tensor:
        """`(CHAINS, T, *event)`."""
        return torch.stack(self.frames, dim=1)


def run_filmed(sampler: SamplerSettings, energy: Energy, x: Tensor, generator: Generator) -> tuple[Chain, Film]:
    """The run of a sampler, and its film; diagnostics are those of the last part."""
    film, taken, chain = Film(), 0, Chain(x)
    film.add(0, x)
    # Cut, a ladder of temperatures would end each part at the energy itself; a ladder of noise levels would not.
    whole = not conditional(energy) and sampler.kind == "annealed_langevin"
    for part in [sampler] if whole else sampler.parts(MOMENTS - 1):
        chain = part.run(energy, chain.x, generator)
        taken += part.total_steps
        film.add(taken, chain.x)
    return chain, film

"""A run of a sampler cut into consecutive parts, so that chains can be watched on their way.

The parts use one generator after another's end, so for samplers whose steps are all alike (`SamplerSettings.alike`)
the end of the last part is, bit for bit, the end of the run in one go. A *film* keeps whole events of a few chains at
moments that lie ever farther apart; a *trace* keeps a few numbers of more chains at even moments of the second half,
for R̂ and the effective sample size.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from ebmbench.core.energy import Energy, conditional
from ebmbench.samplers.common.chain import Chain, SamplerSettings, moments

MOMENTS = 12  # of a film
CHAINS = 8  # of a film of images
POINTS = 300  # of a film of events in the plane
TRACED = 64  # chains of a trace
DRAWS = 50  # of a trace, at most
APART = 4  # steps between draws, at least, unless the run is short: each cut costs some samplers an evaluation
BRIEF = 32  # steps of a half that is short


@dataclass
class Film:
    """The first chains `(chains, T, *event)` after the numbers of steps `(T,)`."""

    chains: int = CHAINS
    frames: list[Tensor] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def add(self, step: int, x: Tensor) -> None:
        """One more moment."""
        self.frames.append(x[: self.chains].detach().cpu().clone())
        self.steps.append(step)

    def stacked(self) -> Tensor:
        """`(chains, T, *event)`."""
        return torch.stack(self.frames, dim=1)


@dataclass
class Trace:
    """Numbers of some chains, `see(x)` `(B, K)` called `names`, at even moments of the second half of a run."""

    names: Sequence[str]
    see: Callable[[Tensor], Tensor]
    rows: list[Tensor] = field(default_factory=list)

    @staticmethod
    def ends(total: int) -> list[int]:
        """After which numbers of steps a draw is taken, the last at the end."""
        half = total - total // 2
        draws = min(DRAWS, half // APART if half >= BRIEF else half)
        return [total - (half // draws) * k for k in range(draws - 1, -1, -1)]

    def add(self, x: Tensor) -> None:
        """One more draw."""
        with torch.no_grad():
            self.rows.append(self.see(x[:TRACED]).detach().cpu())

    def stacked(self) -> Tensor:
        """`(TRACED, draws, K)`."""
        return torch.stack(self.rows, dim=1)


def run_watched(
    sampler: SamplerSettings,
    energy: Energy,
    x: Tensor,
    generator: Generator,
    film: Film | None = None,
    trace: Trace | None = None,
) -> Chain:
    """The run of a sampler, seen by a film and a trace; a sampler whose steps are not alike leaves a trace empty."""
    seen = {*(_shown(sampler) if film is not None else ())}
    traced = {*(Trace.ends(sampler.total_steps) if trace is not None and sampler.alike else ())}
    taken, parts, chains = 0, _parts(sampler, energy, seen, traced), [Chain(x)]
    if film is not None:
        film.add(0, x)
    for part in parts:
        chains.append(part.run(energy, chains[-1].x, generator))
        taken += part.total_steps
        if film is not None and (taken in seen or not sampler.alike):
            film.add(taken, chains[-1].x)
        if trace is not None and taken in traced:
            trace.add(chains[-1].x)
    return Chain(chains[-1].x, _joined(chains[1:], [part.total_steps for part in parts]))


def _shown(sampler: SamplerSettings) -> list[int]:
    """After which numbers of steps a film has a moment."""
    lengths = list(moments(sampler.total_steps, MOMENTS - 1))
    return [sum(lengths[: place + 1]) for place in range(len(lengths))]


def _parts(sampler: SamplerSettings, energy: Energy, seen: set[int], traced: set[int]) -> Sequence[SamplerSettings]:
    if sampler.alike:
        ends = sorted(seen | traced | {sampler.total_steps})
        return [sampler.model_copy(update={"steps": b - a}) for a, b in zip([0, *ends], ends, strict=False)]
    # Cut, a ladder of temperatures would end each part at the energy itself; a ladder of noise levels would not.
    whole = not seen or (not conditional(energy) and sampler.kind == "annealed_langevin")
    return [sampler] if whole else sampler.parts(MOMENTS - 1)


def _joined(chains: list[Chain], steps: list[int]) -> dict[str, Tensor]:
    """Diagnostics of the whole run: means over its steps, and what is said of its end."""
    last = chains[-1].diagnostics
    weights = torch.tensor(steps, dtype=torch.float64) / sum(steps)
    known = [name for name in last if all(name in chain.diagnostics for chain in chains)]
    values = {name: torch.stack([chain.diagnostics[name].double().cpu() for chain in chains]) for name in known}
    means = {name: (weights * parts).sum() for name, parts in values.items() if not name.startswith("last_")}
    return {name: means.get(name, value) for name, value in last.items()}

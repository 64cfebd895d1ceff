"""A run of a sampler cut into consecutive parts, so that chains can be watched on their way.

The parts use one generator after another's end, so for samplers whose steps are all alike (`SamplerSettings.alike`)
the end of the last part is, bit for bit, the end of the run in one go. A *film* keeps whole events of a few chains at
moments that lie ever farther apart; a *trace* keeps a few numbers of more chains at even moments of the second half,
for R̂ and the effective sample size.

A *clamped* run puts the known part of each event back after every step, so that the rest is drawn given it: Langevin on
the conditional density, or Gibbs with clamped units.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from ebmbench.core.energy import Energy, conditional, visible_events
from ebmbench.core.streams import normal
from ebmbench.samplers.common.chain import Chain, SamplerSettings, moments

MOMENTS = 12  # of a film
CHAINS = 8  # of a film of images
POINTS = 300  # of a film of events in the plane
TRACED = 64  # chains of a trace
DRAWS = 50  # of a trace, at most
APART = 4  # steps between draws, at least, unless the run is short: each cut costs some samplers an evaluation
BRIEF = 32  # steps of a half that is short
COMPLETED, COMPLETIONS = 8, 4  # test images of which a half is covered, and chains that complete each


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


def upper_half(x: Tensor) -> Tensor:
    """Which coordinates of images `(N, C, H, W)` are in the upper half."""
    known = torch.zeros_like(x, dtype=torch.bool)
    known[..., : x.shape[-2] // 2, :] = True
    return known


def run_clamped(
    sampler: SamplerSettings, energy: Energy, x: Tensor, known: Tensor, generator: Generator
) -> Tensor | None:
    """The end of a run in which `x` stays as it is where `known`; None if the sampler cannot be stopped at each step.

    Along a ladder of noise levels the known part is put back after each level, with as much noise as the level has
    (Song & Ermon 2019, algorithm 2), and at the end without.
    """
    ladder = conditional(energy) and sampler.kind == "annealed_langevin"
    if not (sampler.alike or ladder):
        return None
    parts = sampler.parts(sampler.total_steps) if ladder else [sampler.model_copy(update={"steps": 1})] * sampler.steps
    widths = [getattr(sampler, "sigma_max", 0.0), *(getattr(part, "sigma_min", 0.0) for part in parts[:-1])]
    clean = x
    for part, width in zip(parts, widths, strict=True):
        kept = clean + width * normal(clean, generator) if width else clean
        x = visible_events(energy, part.run(energy, torch.where(known, kept, x), generator).x)
    return torch.where(known, clean, x)


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

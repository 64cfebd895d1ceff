"""The kinds of samples of a trained model. They differ by orders of magnitude, so each is drawn, kept and named apart.

- `buffer`: the training chains as they ended, where chains persist. What training itself saw.
- `short`: a short run from noise, of `sampling.short` steps. What the model gives to somebody who starts anew.
- `long`: a long run from noise, of `sampling.long` steps. Where chains end: it shows whether the energy has its low
  places at data, or only leads past them.
- `data`: a short run from held-out data, for methods whose chains start at data (cd). From training data, chains that
  never move would be nearer to the reference than any model could be.

By the suite's sampler; with `sampling.own` by the one that a method names, most often that of its training; and a
method that is also a way of sampling (ncsn) by its own, whose `long` run takes as many times the steps as it is longer
than the short.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from ebmbench.config.sections import Kind, Sampling
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.experiment.recording import Film, Trace, run_watched
from ebmbench.samplers.common.chain import Chain, SamplerSettings
from ebmbench.samplers.common.choice import parse
from ebmbench.training.job import meant
from ebmbench.training.trained import Trained
from ebmbench.training.trainer import usable
from ebmbench.workspace.layout import PARAMS_YAML

FEW = 8  # coordinates, or projections in their place, that a trace follows


@dataclass(frozen=True)
class Drawn:
    """Samples of one kind, how they came about, of image chains a film, and of long runs a trace."""

    x: Tensor
    sampler: str
    diagnostics: dict[str, float]
    film: Film | None = None
    trace: Trace | None = None


def draw(trained: Trained, kind: Kind, sampling: Sampling, test: Tensor) -> Drawn | None:
    """Samples of a kind, or None if the model has no such kind."""
    seed = int(trained.header["seed"])
    if kind == "buffer":
        return _buffer(trained, sampling.chains, seed)
    if kind == "data" and not trained.starts_at_data:
        return None
    sampler = chosen(trained, kind, sampling)
    # The first kind there ever was has the plain names: its samples stay what they were.
    name = ("sample",) if kind == "long" else ("sample", kind)
    if kind == "data":
        index = torch.randperm(len(test), generator=stream(seed, *name, "start"))[: sampling.chains]
        starts = test[index]
    else:
        starts = trained.facts.starts(sampling.chains, stream(seed, *name, "start"), sampling.spread)
    recorded = trained.header["training"].get("device", "cpu")
    # Trained on a GPU and sampled where there is none: slower, and with other roundings.
    device = usable(recorded if recorded == meant("auto") else "cpu")
    trained.network.to(device)
    energy, generator = trained.sampled_by(sampler), stream(seed, *name, "chain")
    film = Film() if trained.facts.is_image else None
    trace = traced(energy, trained.facts) if kind == "long" else None
    chain = run_watched(sampler.fitted(trained.facts), energy, starts.to(device), generator, film, trace)
    return _drawn(chain, sampler, film, trace)


def traced(energy: Energy, facts: Facts) -> Trace:
    """A trace of the energy, and of the coordinates of events that have few, or of some projections of others."""
    size = math.prod(facts.shape)
    directions = torch.eye(size) if size <= FEW else torch.randn(FEW, size, generator=stream(0, "trace")) / size**0.5
    names = ["energy"] * callable(energy) + [
        f"{'x' if size <= FEW else 'projection '}{k + 1}" for k in range(len(directions))
    ]

    def see(x: Tensor) -> Tensor:
        shadows = x.flatten(1) @ directions.to(x).T
        return torch.cat([energy(x)[:, None], shadows], dim=1) if callable(energy) else shadows

    return Trace(names, see)


class Sampled(Protocol):
    """What says how a model is sampled, before it is trained and after."""

    @property
    def settings(self) -> Any:
        """The method's settings."""

    @property
    def own_sampler(self) -> SamplerSettings | None:
        """The sampler that belongs to the method, if one does."""


def chosen(trained: Sampled, kind: Kind, sampling: Sampling) -> SamplerSettings:
    """Which sampler, with how many steps."""
    steps = sampling.long if kind == "long" else sampling.short
    if trained.own_sampler is not None:
        times = max(1, round((steps or 1) / sampling.short)) if kind == "long" else 1
        return trained.own_sampler.model_copy(update={"steps": trained.own_sampler.steps * times})
    named = getattr(trained.settings, "sampler", None) if sampling.own else None
    if named is not None and steps is None:
        raise UserError(f"{PARAMS_YAML}: sampling.long: found null with own: true, allowed: a number of steps")
    sampler: SamplerSettings = named or parse(sampling.sampler, PARAMS_YAML, "sampling")
    return sampler if steps is None else sampler.model_copy(update={"steps": steps})


def _buffer(trained: Trained, count: int, seed: int) -> Drawn | None:
    if trained.chains is None:
        return None
    enough_chains(len(trained.chains), count)
    index = torch.randperm(len(trained.chains), generator=stream(seed, "sample", "buffer"))[:count]
    return Drawn(trained.chains[index], "the training chains", {})


def enough_chains(buffer: int, count: int) -> None:
    """A buffer of so many chains must give as many samples as the other kinds have."""
    if buffer < count:
        found = f"found {count} for a buffer of {buffer} chains"
        raise UserError(
            f"{PARAMS_YAML}: sampling.chains: {found}, allowed: no more, for all kinds are judged on as many"
        )


def enough(facts: Facts, sampling: Sampling) -> None:
    """Images are judged beside as many test images: FID depends on the number."""
    if facts.is_image and sampling.chains > facts.test:
        found = f"found {sampling.chains} on {facts.name}"
        raise UserError(
            f"{PARAMS_YAML}: sampling.chains: {found}, allowed: at most {facts.test}, as many as test images"
        )


def _drawn(chain: Chain, sampler: SamplerSettings, film: Film | None, trace: Trace | None) -> Drawn:
    denoised = ", denoised" if getattr(sampler, "denoise", False) else ""
    text = f"{sampler.kind}, {sampler.total_steps} steps{denoised}" if film is not None else sampler.kind
    told = {name: value.item() for name, value in chain.diagnostics.items()}
    return Drawn(chain.x.cpu(), text, told, film, trace if trace is not None and trace.rows else None)

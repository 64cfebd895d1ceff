"""Drawing samples of a trained model. There are four kinds, each drawn, stored and named apart.

- `buffer`: the training chains as they ended, where chains persist. What training itself saw.
- `short`: a short run from noise, of `sampling.short` steps. What the model gives to somebody who starts anew.
- `long`: a long run from noise, of `sampling.long` steps. Where chains end: it shows whether the energy has its low
  places at data, or only leads past them.
- `data`: a short run from held-out data, for methods whose chains start at data (cd). From training data, chains that
  never move would be nearer to the reference than any model could be.

Of images, some test images of which a half is covered are completed too, by clamped chains like those of the short (or
else the long) run. Of a classifier of images (jem) there are a few samples of each class: `draw_classes`.

They are drawn by the suite's sampler, or with `sampling.own` by the one that the method's settings name; so is a score
without an energy that the suite's sampler cannot move. A method that is also a way of sampling (ncsn) has its own
sampler; its `long` run takes `long / short` times that sampler's steps.
"""

import json
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ebmbench.config.sections import Kind, Sampling
from ebmbench.core.dataset import Facts, read_split
from ebmbench.core.energy import Energy, visible_events
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.experiment.recording import (
    COMPLETED,
    COMPLETIONS,
    POINTS,
    Film,
    Trace,
    run_clamped,
    run_watched,
    upper_half,
)
from ebmbench.samplers.common.chain import Chain, SamplerSettings
from ebmbench.samplers.common.choice import parse
from ebmbench.training.job import name_device
from ebmbench.training.run import peak_memory
from ebmbench.training.trained import Trained, load
from ebmbench.training.trainer import open_device
from ebmbench.workspace.cell import CLASSES, SNAPSHOT_KIND, TRACE, snapshots
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import save_array, save_arrays, write_json
from ebmbench.workspace.layout import PARAMS_YAML
from ebmbench.workspace.progress import progress
from ebmbench.workspace.store import Store, digest

PER_CLASS = 16  # samples
FEW = 8  # coordinates, or projections in their place, that a trace follows


@dataclass(frozen=True)
class Samples:
    """Samples of one kind, how they came about, of images and points a film, and of long runs a trace."""

    x: Tensor
    sampler: str
    diagnostics: dict[str, float]
    film: Film | None = None
    trace: Trace | None = None
    run: dict[str, Any] = field(default_factory=dict)  # of what is traced: sampler, chains, spread of the starts


def sample_run(run: Path, status: dict[str, Any], sampling: Sampling, data: Path, store: Store) -> Path:
    """Draw all kinds of samples of a trained run, or find them; `run` and `data` are folders, `status` is the run's."""
    # The run's digest covers the method's own sampler.
    modules = [__name__, f"ebmbench.samplers.{sampling.sampler.get('kind')}"]
    key = digest({"run": status["digest"], "sampling": sampling.model_dump(), "code": code_hash(modules)})
    return store.obtain(key, lambda _, result: _fill(run, status["status"] == "ok", sampling, data, result))


def _fill(run: Path, ok: bool, sampling: Sampling, data: Path, result: Path) -> None:
    """Write `<kind>.npy`, `diagnostics.json`, a trace, and films; no samples if the run is not ok."""
    clock = time.perf_counter()
    if ok:
        trained, test = load(run), read_split(data, "test")
        check_sample_size(trained.facts, sampling)
        drawn = {kind: draw(trained, kind, sampling, test) for kind in progress.parts(sampling.kinds)}
        _write(result, {kind: one for kind, one in drawn.items() if one is not None}, draw_classes(trained, sampling))
        if (completed := complete(trained, sampling, test)) is not None:
            save_array(result / "completions.npy", completed.numpy())
    seconds = round(time.perf_counter() - clock, 3)
    if ok:
        _draw_snapshots(run, sampling, test, result)
    write_json(result / "cost.json", {"seconds": seconds, "peak_memory_mb": peak_memory()})


def _draw_snapshots(run: Path, sampling: Sampling, test: Tensor, result: Path) -> None:
    """Short runs of the image models that training saved on its way: images are judged by samples."""
    for file in snapshots(run):
        trained = load(file)
        if trained.facts.is_image and SNAPSHOT_KIND in sampling.kinds:
            drawn = draw(trained, SNAPSHOT_KIND, sampling, test)
            assert drawn is not None  # everything can be sampled from noise
            save_array(result / f"{file.stem}.npy", drawn.x.numpy())


def _write(result: Path, drawn: dict[str, Samples], classes: Tensor | None) -> None:
    for kind, one in drawn.items():
        save_array(result / f"{kind}.npy", one.x.numpy())
        if one.trace is not None:
            arrays = {"draws": one.trace.stacked().numpy(), "names": np.array(one.trace.names)}
            save_arrays(result / TRACE, arrays | {"run": np.array(json.dumps(one.run))})
    write_json(result / "diagnostics.json", {kind: _describe(one) for kind, one in drawn.items()})
    films = {kind: one.film for kind, one in drawn.items() if one.film is not None}
    if films:
        arrays = {kind: film.stacked().numpy() for kind, film in films.items()}
        arrays |= {} if classes is None else {CLASSES: classes.numpy()}
        arrays |= {f"{kind}_steps": np.array(film.steps) for kind, film in films.items()}
        save_arrays(result / "films.npz", arrays)


def _describe(one: Samples) -> dict[str, Any]:
    """Which sampler it was and how it fared; a number that is not finite is written as text."""
    shown = {name: value if np.isfinite(value) else str(value) for name, value in one.diagnostics.items()}
    return {"sampler": one.sampler, **shown}


def draw(trained: Trained, kind: Kind, sampling: Sampling, test: Tensor) -> Samples | None:
    """Samples of a kind, or None if the model has no such kind."""
    seed = int(trained.header["seed"])
    if kind == "buffer":
        return _buffer(trained, sampling.chains, seed)
    if kind == "data" and not trained.starts_at_data:
        return None
    sampler, device = choose_sampler(trained, kind, sampling), _move(trained)
    # Long runs were the first kind: their streams have no kind in their name.
    name = ("sample",) if kind == "long" else ("sample", kind)
    if kind == "data":
        index = torch.randperm(len(test), generator=stream(seed, *name, "start"))[: sampling.chains]
        starts = test[index]
    else:
        starts = trained.facts.starts(sampling.chains, stream(seed, *name, "start"), sampling.spread)
    energy, generator = trained.sampled_by(sampler), stream(seed, *name, "chain")
    film = make_film(trained.facts)
    trace = make_trace(energy, trained.facts) if kind == "long" else None
    chain = run_watched(sampler.fit_to(trained.facts), energy, starts.to(device), generator, film, trace)
    run = {"sampler": sampler.model_dump(), "chains": len(starts), "spread": sampling.spread}
    drawn = replace(chain, x=visible_events(energy, chain.x))
    return replace(_collect(drawn, sampler, film, trace, trained.facts.is_image), run=run)


def complete(trained: Trained, sampling: Sampling, test: Tensor) -> Tensor | None:
    """The first test images with their lower halves drawn anew, `(COMPLETED, COMPLETIONS, C, H, W)`; None without any.

    Chains start from noise there.
    """
    facts, kind = trained.facts, next((kind for kind in ("short", "long") if kind in sampling.kinds), None)
    if kind is None or len(facts.shape) != 3 or not (facts.is_image or facts.binary):
        return None
    whole = test[:COMPLETED].repeat_interleave(COMPLETIONS, 0)
    name, known = (int(trained.header["seed"]), "sample", "completion"), upper_half(whole)
    x = torch.where(known, whole, facts.starts(len(whole), stream(*name, "start"), sampling.spread))
    sampler, device = choose_sampler(trained, kind, sampling), _move(trained)
    energy = trained.sampled_by(sampler)
    drawn = run_clamped(sampler.fit_to(facts), energy, x.to(device), known.to(device), stream(*name, "chain"))
    return None if drawn is None else drawn.cpu().reshape(-1, COMPLETIONS, *facts.shape)


def draw_classes(trained: Trained, sampling: Sampling) -> Tensor | None:
    """Samples of each class of images, `(classes, PER_CLASS, *event)`, by chains of E(x|y) from noise.

    They are as long as those of the `long` kind, if there is that kind, else `short`. None if it is no classifier.
    """
    network: Any = trained.network
    if not (trained.facts.is_image and hasattr(network, "of_classes")):
        return None
    sampler = choose_sampler(trained, "long" if "long" in sampling.kinds else "short", sampling)
    name, device, names = (int(trained.header["seed"]), "sample", CLASSES), _move(trained), trained.facts.classes
    labels = torch.arange(len(names), device=device).repeat_interleave(PER_CLASS)
    starts = trained.facts.starts(len(labels), stream(*name, "start"), sampling.spread).to(device)
    chain = sampler.fit_to(trained.facts).run(network.of_classes(labels), starts, stream(*name, "chain"))
    return chain.x.cpu().unflatten(0, (len(names), PER_CLASS))


def _move(trained: Trained) -> torch.device:
    """Move the network to where it was trained, if this machine has that."""
    recorded = trained.header["training"].get("device", "cpu")
    # Trained on a GPU and sampled where there is none: slower, and with other roundings.
    device = open_device(recorded if recorded == name_device("auto") else "cpu")
    trained.network.to(device)
    return device


def make_film(facts: Facts) -> Film | None:
    """A film of images, or of more events in the plane; nobody could look at one of other data."""
    return Film() if facts.is_image else Film(POINTS) if facts.shape == [2] else None


def make_trace(energy: Energy, facts: Facts) -> Trace:
    """A trace of the energy and of the coordinates, or of some projections of events with many coordinates."""
    size = math.prod(facts.shape)
    directions = torch.eye(size) if size <= FEW else torch.randn(FEW, size, generator=stream(0, "trace")) / size**0.5
    names = ["energy"] * callable(energy) + [
        f"{'x' if size <= FEW else 'projection '}{k + 1}" for k in range(len(directions))
    ]

    def see(x: Tensor) -> Tensor:
        shadows = visible_events(energy, x).flatten(1) @ directions.to(x).T
        return torch.cat([energy(x)[:, None], shadows], dim=1) if callable(energy) else shadows

    return Trace(names, see)


class HasSampler(Protocol):
    """A model, trained or not yet, that knows how its method samples."""

    @property
    def settings(self) -> Any:
        """The method's settings."""

    @property
    def own_sampler(self) -> SamplerSettings | None:
        """The sampler that belongs to the method, if one does."""

    @property
    def has_energy(self) -> bool:
        """Whether there is an energy, and not a score alone."""


def choose_sampler(model: HasSampler, kind: Kind, sampling: Sampling) -> SamplerSettings:
    """The sampler of a kind of samples, with its number of steps."""
    steps = sampling.long if kind == "long" else sampling.short
    if model.own_sampler is not None:
        times = max(1, round((steps or 1) / sampling.short)) if kind == "long" else 1
        return model.own_sampler.model_copy(update={"steps": model.own_sampler.steps * times})
    named = model.settings.sampler if names_sampler(model, sampling) else None
    if named is not None and steps is None and sampling.own:
        raise UserError(f"{PARAMS_YAML}: sampling.long: found null with own: true, allowed: a number of steps")
    sampler: SamplerSettings = named or parse(sampling.sampler, PARAMS_YAML, "sampling")
    return sampler if steps is None else sampler.model_copy(update={"steps": steps})


def names_sampler(model: HasSampler, sampling: Sampling) -> bool:
    """Whether the method's settings name the sampler: with `own`, or where the suite's lacks the energy it needs."""
    if getattr(model.settings, "sampler", None) is None:
        return False
    return sampling.own or (not model.has_energy and parse(sampling.sampler, PARAMS_YAML, "sampling").needs_energy)


def _buffer(trained: Trained, count: int, seed: int) -> Samples | None:
    if trained.chains is None:
        return None
    check_buffer_size(len(trained.chains), count)
    index = torch.randperm(len(trained.chains), generator=stream(seed, "sample", "buffer"))[:count]
    return Samples(visible_events(trained.network, trained.chains[index]), "the training chains", {})


def check_buffer_size(buffer: int, count: int) -> None:
    """Refuse a buffer with fewer chains than samples are wanted of each kind."""
    if buffer < count:
        found = f"found {count} for a buffer of {buffer} chains"
        raise UserError(
            f"{PARAMS_YAML}: sampling.chains: {found}, allowed: no more, for all kinds are judged on as many"
        )


def check_sample_size(facts: Facts, sampling: Sampling) -> None:
    """Refuse more samples than there are test images: FID depends on the number, and both must be equal."""
    if facts.is_image and sampling.chains > facts.test:
        found = f"found {sampling.chains} on {facts.name}"
        raise UserError(
            f"{PARAMS_YAML}: sampling.chains: {found}, allowed: at most {facts.test}, as many as test images"
        )


def _collect(chain: Chain, sampler: SamplerSettings, film: Film | None, trace: Trace | None, images: bool) -> Samples:
    denoised = ", denoised" if getattr(sampler, "denoise", False) else ""
    text = f"{sampler.kind}, {sampler.total_steps} steps{denoised}" if images else sampler.kind
    diagnostics = {name: value.item() for name, value in chain.diagnostics.items()}
    return Samples(chain.x.cpu(), text, diagnostics, film, trace if trace is not None and trace.rows else None)

"""A trained model, back from disk: `ebmbench.load("runs/quick/two_moons/dsm/train/seed=0")`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ebmbench.config.registry import load as load_module
from ebmbench.core import checkpoint
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import score, visible_events
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.samplers.common.chain import Chain, SamplerSettings
from ebmbench.training.job import make_network

# What a header without some key, or with a value of another kind, ends in.
FOREIGN = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError)

Array = TypeVar("Array", Tensor, np.ndarray)


class Trained:
    """A network with the job it came from. `energy`, `score` and `sample` speak the data's own units.

    `energy` and `score` take tensors and NumPy arrays of any type of number, and return the same kind: an array for an
    array, float64 for float64. They are computed in the precision of the network, float32 as it was trained.
    """

    def __init__(self, network: nn.Module, header: dict[str, Any], chains: Tensor | None = None) -> None:
        self.chains = chains  # the training chains as they ended, if they persist
        self.network = network.eval().requires_grad_(False)
        self.header = header
        self.facts = Facts(**header["facts"])
        method = load_module("methods", header["method"])
        self.settings = method.Settings(**header["settings"])
        self.judged = method.Method.judged(self.settings, self.network, self.facts)
        self.levels: Tensor | None = method.Method.levels(self.settings, self.facts)
        self.own_sampler: SamplerSettings | None = method.Method.own_sampler(self.settings)
        self.starts_at_data: bool = method.Method.starts_at_data(self.settings)

    @property
    def has_energy(self) -> bool:
        """Whether there is an energy, and not a score alone."""
        return callable(self.judged)

    def energy(self, x: Array) -> Array:
        """E(x) with p(x) ∝ exp(−E(x)); `(B, *event) -> (B,)`."""
        if not self.has_energy:
            raise UserError(f"{self!r} is a score without an energy (model {self.settings.model})")
        return self._compute(self.judged, x)

    def score(self, x: Array) -> Array:
        """−∇E(x), `(B, *event)`."""
        return self._compute(lambda x: score(self.judged, x), x)

    def _compute(self, function: Callable[[Tensor], Tensor], x: Any) -> Any:
        """A function of the network in its own precision and on its device, given back as x came."""
        # A copy: PyTorch warns of arrays that may not be written to, and refuses those that run backwards.
        given = x if isinstance(x, Tensor) else torch.from_numpy(np.array(x, order="C"))
        if list(given.shape[1:]) != self.facts.shape:
            allowed = f"(B, {', '.join(map(str, self.facts.shape))})"
            raise UserError(f"{self!r}: found events of the shape {tuple(given.shape)}, allowed: {allowed}")
        value = function(given.to(next(self.network.parameters())))
        value = value.to(given) if given.is_floating_point() else value.to(given.device)
        return value if isinstance(x, Tensor) else value.numpy()

    def sample(self, count: int, seed: int = 0, sampler: SamplerSettings | None = None, spread: float = 1.5) -> Chain:
        """Chains from noise: by the sampler that is given, else the method's own, else 500 steps of MALA or Gibbs.

        A score without an energy is sampled by Langevin in place of MALA. The same seed gives the same draws, so two
        calls without one are equal: another seed gives others.
        """
        steps: dict[str, Any] = {"steps": 500} if self.facts.binary else {"steps": 500, "step_size": 0.02}
        kind = "block_gibbs" if self.facts.binary else "mala" if self.has_energy else "langevin"
        chosen = sampler or self.own_sampler or load_module("samplers", kind).Settings(**steps)
        starts = self.facts.starts(count, stream(seed, "sample", "start"), spread)
        chain = chosen.fit_to(self.facts).run(self.sampled_by(chosen), starts, stream(seed, "sample", "chain"))
        return Chain(visible_events(self.network, chain.x), chain.diagnostics)

    def sampled_by(self, sampler: SamplerSettings) -> Any:
        """What a sampler is given: the method's own walks through all noise levels, any other sees the judged one."""
        if sampler.needs_energy and not self.has_energy:
            raise UserError(f"{self!r}: found the sampler {sampler.kind}, which needs an energy, allowed: langevin")
        own = self.own_sampler is not None and sampler.kind == self.own_sampler.kind
        return self.network if own else self.judged

    def double(self) -> "Trained":
        """The same model in float64."""
        self.network.double()
        return self

    def __repr__(self) -> str:
        return f"Trained({self.facts.name}, {self.header['method']}, {self.header['label']})"


def load(run: str | Path) -> Trained:
    """Read a run's folder (or its `model.safetensors`)."""
    path = Path(run)
    path = path / "model.safetensors" if path.is_dir() else path
    if not path.is_file():
        raise UserError(
            f"{run}: found no model.safetensors there; runs are folders like runs/quick/two_moons/dsm/train/seed=0"
        )
    tensors, header = checkpoint.load(path)
    try:
        return _built(tensors, header)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except RuntimeError as error:
        raise UserError(f"{path}: weights do not fit the model in the header ({str(error).splitlines()[0]})") from error
    except FOREIGN as error:
        words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UserError(f"{path}: not a model that training wrote, or of another version ({words})") from error


def _built(tensors: dict[str, Tensor], header: dict[str, Any]) -> Trained:
    models = load_module("models", header["settings"]["model"])
    settings, facts = models.Settings(**header["model"]), Facts(**header["facts"])
    network = make_network(header["method"], header["settings"]["model"], settings, facts)
    network.load_state_dict(checkpoint.select_prefix("model", tensors))
    return Trained(network, header, _chains(tensors, header["settings"]))


def _chains(tensors: dict[str, Tensor], settings: dict[str, Any]) -> Tensor | None:
    """The persistent chains that training moved; a buffer that it only filled, or never touched, holds none."""
    used = settings.get("init", "persistent") == "persistent"
    if not used or "method.buffer.chains" not in tensors:
        return None
    chains = tensors["method.buffer.chains"][tensors["method.buffer.begun"]]
    return chains if len(chains) else None

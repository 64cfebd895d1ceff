"""A job is one run to be trained.

A method with settings, on a dataset, from a seed. Its digest names all that produces it.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from pydantic import BaseModel

from ebmbench.config.sections import Training
from ebmbench.core.dataset import Facts
from ebmbench.core.method import Settings
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.store import digest


@dataclass(frozen=True)
class Job:
    """Everything that decides a run's result."""

    method: str
    settings: Settings
    swept: dict[str, Any]
    seed: int
    training: Training
    model: BaseModel
    facts: Facts

    @property
    def varied(self) -> dict[str, Any]:
        """The swept values as they are shown: a sampler by its kind."""
        return {key: shown(value) for key, value in self.swept.items()}

    @property
    def label(self) -> str:
        """`seed=0`, or `interval=5/seed=0` where a setting is swept."""
        return "/".join(f"{key}={value}" for key, value in [*self.varied.items(), ("seed", self.seed)])

    def header(self) -> dict[str, Any]:
        """The job in plain values; stands in the header of its checkpoints."""
        return {
            "method": self.method,
            "settings": self.settings.model_dump(),
            "swept": self.swept,
            "seed": self.seed,
            "label": self.label,
            # The device by name: a result tells where it comes from.
            "training": {**self.training.model_dump(), "device": meant(self.training.device)},
            "model": self.model.model_dump(),
            "facts": self.facts.as_dict(),
        }

    def digest(self) -> str:
        """Names the run by its inputs: settings, seed, budget, data, code and versions of libraries."""
        return digest({**self.header(), "code": code_hash(self.modules())})

    def modules(self) -> list[str]:
        """The modules whose code, with what they import, makes the run."""
        sampler = getattr(self.settings, "sampler", None)
        own = [f"ebmbench.methods.{self.method}", f"ebmbench.models.{self.settings.model}", "ebmbench.training.run"]
        return own + ([f"ebmbench.samplers.{sampler.kind}"] if sampler is not None else [])


def meant(device: str) -> str:
    """The device that `auto` means on this machine; any other is what it is called."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def shown(value: Any) -> Any:
    """A swept value in a label: a section that has a `kind` is called by it."""
    return value.get("kind", value) if isinstance(value, dict) else value


def grid(section: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every combination of the list-valued settings: pairs (all values, swept values only)."""
    swept = {key: value for key, value in section.items() if isinstance(value, list)}
    for values in itertools.product(*swept.values()):
        chosen = dict(zip(swept, values, strict=True))
        yield {**section, **chosen}, chosen

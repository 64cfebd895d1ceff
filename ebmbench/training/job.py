"""A job: one run to be trained, which is a method with settings, on a dataset, from a seed."""

from dataclasses import dataclass
from typing import Any

import torch
from pydantic import BaseModel

from ebmbench.config.registry import load
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
    def swept_names(self) -> dict[str, Any]:
        """The swept values by their names in labels: a sampler is named by its kind."""
        return {key: name_value(value) for key, value in self.swept.items()}

    @property
    def label(self) -> str:
        """`seed=0`, or `interval=5/seed=0` where a setting is swept."""
        return "/".join(f"{key}={value}" for key, value in [*self.swept_names.items(), ("seed", self.seed)])

    def header(self) -> dict[str, Any]:
        """The job in plain values, for the header of its checkpoints."""
        return {
            "method": self.method,
            "settings": self.settings.model_dump(),
            "swept": self.swept,
            "seed": self.seed,
            "label": self.label,
            # The device that is used, not `auto`.
            "training": {**self.training.model_dump(), "device": name_device(self.training.device)},
            "model": self.model.model_dump(),
            "facts": self.facts.as_dict(),
        }

    def digest(self) -> str:
        """The name of the run: a hash of settings, seed, budget, data, code and versions of libraries."""
        return digest({**self.header(), "code": code_hash(self.modules())})

    def modules(self) -> list[str]:
        """The modules whose code, with all that they import, makes the run."""
        sampler = getattr(self.settings, "sampler", None)
        own = [f"ebmbench.methods.{self.method}", f"ebmbench.models.{self.settings.model}", "ebmbench.training.run"]
        return own + ([f"ebmbench.samplers.{sampler.kind}"] if sampler is not None else [])


def make_network(method: str, model: str, settings: BaseModel, facts: Facts) -> Any:
    """The network of a run, whose weights are not drawn yet; a classifier if the method needs labels."""
    network = load("models", model).Model
    return (network.classifier if load("methods", method).Method.needs_labels else network)(settings, facts)


def name_device(device: str) -> str:
    """The device that `auto` stands for on this machine; any other name stays."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def name_value(value: Any) -> Any:
    """A swept value as a label shows it: a section by its `kind`."""
    return value.get("kind", value) if isinstance(value, dict) else value

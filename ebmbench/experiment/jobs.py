"""From `params.yaml` to the runs of a cell.

The grid of swept settings times the seeds, each checked by its method's own schema.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ebmbench.config.params import Params
from ebmbench.config.registry import load, names
from ebmbench.config.schema import check, known
from ebmbench.config.sections import Sampling
from ebmbench.core.dataset import Facts
from ebmbench.core.method import Settings
from ebmbench.errors import UserError
from ebmbench.experiment.samples import chosen, enough, enough_chains
from ebmbench.samplers.common.buffer import Buffer
from ebmbench.samplers.common.chain import SamplerSettings
from ebmbench.training.job import Job, grid, shown
from ebmbench.workspace.cell import Cell
from ebmbench.workspace.layout import PARAMS_YAML

MOST_RUNS = 10_000  # of a cell: beyond it a sweep is a mistake


def cell_jobs(params: Params, method: str, facts: Facts) -> Iterator[Job]:
    """Every run of a cell, with the values that hold on its dataset."""
    params = params.on(facts.name)
    for settings, model, swept in cell_settings(params, method):
        for seed in params.benchmark.seeds:
            yield Job(method, settings, swept, seed, params.training, model, facts)


def cell_settings(params: Params, method: str) -> Iterator[tuple[Settings, Any, dict[str, Any]]]:
    """The method's settings, its network's settings, and the swept values, for every combination."""
    # With the values of a dataset's overrides a fault may stand there and not at the plain key.
    key = f"methods.{method}"
    _sweeps(params.methods[method], len(params.benchmark.seeds), key)
    for section, swept in grid(params.methods[method]):
        settings = check(load("methods", method).Settings, section, PARAMS_YAML, key)
        known(settings.model, names("models"), PARAMS_YAML, f"{key}.model")
        _fits(method, settings.model, key)
        model = check(
            load("models", settings.model).Settings,
            params.models.get(settings.model, {}),
            PARAMS_YAML,
            f"models.{settings.model}",
        )
        yield settings, model, swept


def check_cell(params: Params, cell: Cell, facts: Facts | None) -> None:
    """Refuse a cell whose settings do not fit one another or its data, which stages would find after training only.

    Without facts, while the data are not prepared, what needs none is checked. This reads `sampling` and `metrics`,
    which training does not declare in `dvc.yaml`: no result of it depends on them.
    """
    params = params.on(cell.dataset)
    _weights(cell.root, params.metrics.inception_weights)
    seen: set[str] = set()  # networks: most values of a sweep have the same
    for settings, model, _ in cell_settings(params, cell.method):
        planned = Planned(cell, settings, model)
        if facts is not None and planned.method.skip(settings, facts) is not None:
            continue
        planned.judged(params.sampling, facts)
        if facts is not None:
            enough(facts, params.sampling)
            if (network := f"{settings.model} {model}") not in seen:
                planned.shaped(facts)
                seen.add(network)
            if planned.own_sampler is None:  # else it has neither chains of training nor another choice of sampler
                planned.trained(params, facts)


@dataclass(frozen=True)
class Planned:
    """One setting of a cell, before anything of it is trained."""

    cell: Cell
    settings: Any
    model: Any

    @property
    def method(self) -> Any:
        """The method's class."""
        return load("methods", self.cell.method).Method

    @property
    def own_sampler(self) -> SamplerSettings | None:
        """As of a trained model."""
        sampler: SamplerSettings | None = self.method.own_sampler(self.settings)
        return sampler

    def judged(self, sampling: Sampling, facts: Facts | None) -> None:
        """The samplers that would draw each kind of samples of it."""
        at_data, own = self.method.starts_at_data(self.settings), self.own_sampler is not None
        named = own or (sampling.own and getattr(self.settings, "sampler", None) is not None)
        for kind in sampling.kinds:
            if kind == "buffer" or (kind == "data" and not at_data):
                continue
            sampler = chosen(self, kind, sampling)
            reason = sampler.misfit(facts, own and _has_levels(self.settings.model), kind == "data")
            self._refuse(f"methods.{self.cell.method}.sampler." if named else "sampling.sampler.", reason)

    def shaped(self, facts: Facts) -> None:
        """The network, built without memory for its weights."""
        try:
            _built(load("models", self.settings.model).Model, self.model, facts)
        except UserError as error:
            self._refuse(f"methods.{self.cell.method}.model: ", str(error).removeprefix("model "))

    def trained(self, params: Params, facts: Facts) -> None:
        """The sampler that training runs, and the buffer that is judged afterwards."""
        method = _built(self.method, self.settings, facts)
        if isinstance(getattr(method, "sampler", None), SamplerSettings):
            at_data = self.method.starts_at_data(self.settings) and params.training.data_noise == 0
            reason = method.sampler.misfit(facts, _has_levels(self.settings.model), at_data)
            self._refuse(f"methods.{self.cell.method}.sampler.", reason)
        buffer = getattr(method, "buffer", None)
        persistent = getattr(self.settings, "init", "persistent") == "persistent"
        if "buffer" in params.sampling.kinds and isinstance(buffer, Buffer) and persistent and len(buffer.chains):
            enough_chains(len(buffer.chains), params.sampling.chains)

    def _refuse(self, key: str, reason: str | None) -> None:
        if reason is not None:
            raise UserError(f"{PARAMS_YAML}: {key}{reason} (on {self.cell.dataset})")


def _built(kind: Any, settings: Any, facts: Facts) -> Any:
    """A network or a method without memory; None where that cannot be had, and training tells why, if it fails too."""
    try:
        with torch.device("meta"):
            return kind(settings, facts)
    except UserError:
        raise
    except Exception:
        return None


def _weights(root: Path, file: str | None) -> None:
    if file is not None and not ((root / file).is_file() and file.endswith(".safetensors")):
        found = f"found {file!r}, allowed: a file that is there, made by `python -m ebmbench.features.inception`"
        raise UserError(f"{PARAMS_YAML}: metrics.inception_weights: {found}")


def _sweeps(section: dict[str, Any], seeds: int, key: str) -> None:
    """Lists hold different values, and not so many that their combinations could never be run."""
    runs = seeds
    for name, values in section.items():
        if isinstance(values, list):
            labels = [shown(value) for value in values]
            # By value, so that 1 and 1.0 are one; what has no hash (a list, say) by how it is written.
            if not labels or len({repr(one) if isinstance(one, list | dict) else one for one in labels}) < len(labels):
                said = repr(labels) if len(repr(labels)) <= 200 else f"{len(labels)} values, some of them twice"
                raise UserError(
                    f"{PARAMS_YAML}: {key}.{name}: found {said}, "
                    "allowed: one or more different values (samplers, by kind)"
                )
            runs *= len(labels)
    if runs > MOST_RUNS:
        raise UserError(f"{PARAMS_YAML}: {key}: found {runs} runs (swept values × seeds), allowed: at most {MOST_RUNS}")


def _fits(method: str, model: str, key: str) -> None:
    """A method that chooses a noise level needs a network that has them, and no other can use one."""
    levels = "judged" in vars(load("methods", method).Method)
    if _has_levels(model) != levels:
        fitting = [name for name in names("models") if _has_levels(name) == levels]
        kind = "networks with noise levels" if levels else "networks without noise levels"
        raise UserError(f"{PARAMS_YAML}: {key}.model: found {model!r}, allowed: {kind} ({', '.join(fitting)})")


def _has_levels(model: str) -> bool:
    return hasattr(load("models", model).Model, "given")

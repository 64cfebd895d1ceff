"""The runs of a cell, from `params.yaml`: every combination of swept settings with every seed.

All that can be wrong with them is refused here, before anything is trained.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ebmbench.config.params import Params
from ebmbench.config.registry import load, names
from ebmbench.config.schema import check, known
from ebmbench.config.sections import Sampling
from ebmbench.core.binary import offers_gibbs
from ebmbench.core.dataset import Facts
from ebmbench.core.method import Settings
from ebmbench.errors import UserError
from ebmbench.experiment.samples import check_buffer_size, check_sample_size, choose_sampler, names_sampler
from ebmbench.samplers.common.buffer import Buffer
from ebmbench.samplers.common.chain import SamplerSettings
from ebmbench.training.job import Job, make_network, name_value
from ebmbench.workspace.cell import Cell
from ebmbench.workspace.layout import PARAMS_YAML

MOST_RUNS = 10_000  # of a cell: beyond it a sweep is a mistake


def cell_jobs(params: Params, method: str, facts: Facts) -> Iterator[Job]:
    """Every run of a cell, with the dataset's overrides."""
    params = params.on(facts.name)
    for settings, model, swept in cell_settings(params, method):
        for seed in params.benchmark.seeds:
            yield Job(method, settings, swept, seed, params.training, model, facts)


def cell_settings(params: Params, method: str) -> Iterator[tuple[Settings, Any, dict[str, Any]]]:
    """The method's settings, its network's settings, and the swept values, for every combination."""
    key = f"methods.{method}"
    _check_sweep(params.methods[method], len(params.benchmark.seeds), key)
    for section, swept in _combinations(params.methods[method]):
        settings = check(load("methods", method).Settings, section, PARAMS_YAML, key)
        known(settings.model, names("models"), PARAMS_YAML, f"{key}.model")
        _check_levels(method, settings.model, key)
        _check_classes(method, settings.model, key)
        section = params.models.get(settings.model, {})
        model = check(load("models", settings.model).Settings, section, PARAMS_YAML, f"models.{settings.model}")
        yield settings, model, swept


def _combinations(section: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every combination of the list-valued settings: pairs (all values, swept values only)."""
    swept = {key: value for key, value in section.items() if isinstance(value, list)}
    for values in itertools.product(*swept.values()):
        combination = dict(zip(swept, values, strict=True))
        yield {**section, **combination}, combination


def check_cell(params: Params, cell: Cell, facts: Facts | None, binary: bool = False) -> None:
    """Refuse a cell whose settings do not fit one another or its data, which would else show only after training.

    Without facts, before the data are prepared, only what needs none is checked; `binary` is then what the dataset's
    source says of itself. This reads `sampling` and `metrics`,
    which `dvc.yaml` does not list for training: no result of training depends on them.
    """
    params = params.on(cell.dataset)
    binary = binary if facts is None else facts.binary
    _check_weights(cell.root, params.metrics.inception_weights)
    if binary and params.training.data_noise:
        found = f"found {params.training.data_noise:g}, allowed: 0, for the data are binary (on {cell.dataset})"
        raise UserError(f"{PARAMS_YAML}: training.data_noise: {found}")
    seen: set[str] = set()  # networks: most values of a sweep have the same
    for settings, model, _ in cell_settings(params, cell.method):
        setting = CellSetting(cell, settings, model, binary)
        if (facts is not None and setting.method.skip(settings, facts) is not None) or setting.skips_binary:
            continue
        setting.check_sampling(params.sampling, facts)
        if facts is not None:
            check_sample_size(facts, params.sampling)
            if (network := f"{settings.model} {model}") not in seen:
                setting.check_network(facts)
                seen.add(network)
            if setting.own_sampler is None:  # else it has neither training chains nor a choice of sampler
                setting.check_training(params, facts)


@dataclass(frozen=True)
class CellSetting:
    """One combination of a cell's settings, before it is trained."""

    cell: Cell
    settings: Any
    model: Any
    binary: bool

    @property
    def skips_binary(self) -> bool:
        """Whether the data are binary and the method does not apply to such."""
        return self.binary and bool(self.method.no_binary)

    @property
    def method(self) -> Any:
        """The method's class."""
        return load("methods", self.cell.method).Method

    @property
    def own_sampler(self) -> SamplerSettings | None:
        """The sampler that belongs to the method, if one does."""
        sampler: SamplerSettings | None = self.method.own_sampler(self.settings)
        return sampler

    @property
    def has_energy(self) -> bool:
        """Whether the network is an energy, and not a score alone."""
        return getattr(load("models", self.settings.model).Model, "has_energy", True)

    def check_sampling(self, sampling: Sampling, facts: Facts | None) -> None:
        """Check the samplers that will draw each kind of samples."""
        at_data, own = self.method.starts_at_data(self.settings), self.own_sampler is not None
        training = getattr(self.settings, "sampler", None)
        if training is not None and self.binary and facts is None:  # else `check_training` looks at it
            self._refuse(f"methods.{self.cell.method}.sampler.", self._misfit(training, None, False, True))
        named = own or names_sampler(self, sampling)
        for kind in sampling.kinds:
            if kind == "buffer" or (kind == "data" and not at_data):
                continue
            sampler = choose_sampler(self, kind, sampling)
            reason = self._misfit(sampler, facts, own and _has_levels(self.settings.model), kind == "data")
            self._refuse(f"methods.{self.cell.method}.sampler." if named else "sampling.sampler.", reason)

    def _misfit(self, sampler: SamplerSettings, facts: Facts | None, levels: bool, at_data: bool) -> str | None:
        """Why a sampler cannot move such events by such a model, or None."""
        if self.binary and not sampler.moves_binary:
            fitting = [name for name in names("samplers") if load("samplers", name).Settings.moves_binary]
            return f"kind: found {sampler.kind} for binary data, allowed: {', '.join(fitting)}"
        kind = "binary" if self.binary else "real"
        if kind in sampler.needs_machine and not offers_gibbs(load("models", self.settings.model).Model):
            fitting = [name for name in names("models") if offers_gibbs(load("models", name).Model)]
            found = f"kind: found {sampler.kind} for the model {self.settings.model}, which has no Gibbs sweeps"
            return f"{found}, allowed: models that have them ({', '.join(fitting)})"
        if sampler.needs_energy and not self.has_energy:
            fitting = [name for name in names("samplers") if not load("samplers", name).Settings.needs_energy]
            found = f"kind: found {sampler.kind} for the model {self.settings.model}, a score without an energy"
            return f"{found}, allowed: {', '.join(fitting)}, there or as methods.{self.cell.method}.sampler"
        if self.binary and facts is None:  # the rest is about real states
            return None
        return sampler.misfit(facts, levels, at_data)

    def check_network(self, facts: Facts) -> None:
        """Build the network, without memory for its weights."""
        try:
            _build(partial(make_network, self.cell.method, self.settings.model), self.model, facts)
        except UserError as error:
            self._refuse(f"methods.{self.cell.method}.model: ", str(error).removeprefix("model "))

    def check_training(self, params: Params, facts: Facts) -> None:
        """Check the sampler that training runs, and the buffer that is judged afterwards."""
        method = _build(self.method, self.settings, facts)
        if isinstance(getattr(method, "sampler", None), SamplerSettings):
            at_data = self.method.starts_at_data(self.settings) and params.training.data_noise == 0
            reason = self._misfit(method.sampler, facts, _has_levels(self.settings.model), at_data)
            self._refuse(f"methods.{self.cell.method}.sampler.", reason)
        buffer = getattr(method, "buffer", None)
        persistent = getattr(self.settings, "init", "persistent") == "persistent"
        if "buffer" in params.sampling.kinds and isinstance(buffer, Buffer) and persistent and len(buffer.chains):
            check_buffer_size(len(buffer.chains), params.sampling.chains)

    def _refuse(self, key: str, reason: str | None) -> None:
        if reason is not None:
            raise UserError(f"{PARAMS_YAML}: {key}{reason} (on {self.cell.dataset})")


def _build(kind: Any, settings: Any, facts: Facts) -> Any:
    """A network or a method without memory; None if that fails: training will say why, if it fails too."""
    try:
        with torch.device("meta"):
            return kind(settings, facts)
    except UserError:
        raise
    except Exception:
        return None


def _check_weights(root: Path, file: str | None) -> None:
    if file is not None and not ((root / file).is_file() and file.endswith(".safetensors")):
        found = f"found {file!r}, allowed: a file that is there, made by `python -m ebmbench.features.inception`"
        raise UserError(f"{PARAMS_YAML}: metrics.inception_weights: {found}")


def _check_sweep(section: dict[str, Any], seeds: int, key: str) -> None:
    """Refuse lists with equal values, and sweeps with too many combinations."""
    runs = seeds
    for name, values in section.items():
        if isinstance(values, list):
            labels = [name_value(value) for value in values]
            # Compared by value, so that 1 and 1.0 are equal; a list or mapping, which has no hash, by its text.
            if not labels or len({repr(one) if isinstance(one, list | dict) else one for one in labels}) < len(labels):
                found = repr(labels) if len(repr(labels)) <= 200 else f"{len(labels)} values, some of them twice"
                raise UserError(
                    f"{PARAMS_YAML}: {key}.{name}: found {found}, "
                    "allowed: one or more different values (samplers, by kind)"
                )
            runs *= len(labels)
    if runs > MOST_RUNS:
        raise UserError(f"{PARAMS_YAML}: {key}: found {runs} runs (swept values × seeds), allowed: at most {MOST_RUNS}")


def _check_levels(method: str, model: str, key: str) -> None:
    """Refuse a network with noise levels for a method without them, and the other way round."""
    hooks = vars(load("methods", method).Method)
    if "level" in hooks:  # it takes both
        return
    levels = "judged" in hooks
    if _has_levels(model) != levels:
        fitting = [name for name in names("models") if _has_levels(name) == levels]
        kind = "networks with noise levels" if levels else "networks without noise levels"
        raise UserError(f"{PARAMS_YAML}: {key}.model: found {model!r}, allowed: {kind} ({', '.join(fitting)})")


def _check_classes(method: str, model: str, key: str) -> None:
    """Refuse a network that has no output for each class for a method that needs labels."""
    fitting = [name for name in names("models") if hasattr(load("models", name).Model, "classifier")]
    if load("methods", method).Method.needs_labels and model not in fitting:
        allowed = f"networks with an output for each class ({', '.join(fitting)})"
        raise UserError(f"{PARAMS_YAML}: {key}.model: found {model!r}, allowed: {allowed}")


def _has_levels(model: str) -> bool:
    return hasattr(load("models", model).Model, "given")

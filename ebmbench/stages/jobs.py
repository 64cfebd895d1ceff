"""From `params.yaml` to the runs of a cell.

The grid of swept settings times the seeds, each checked by its method's own schema.
"""

from collections.abc import Iterator
from typing import Any

from ebmbench.core.errors import UserError
from ebmbench.core.facts import Facts
from ebmbench.core.method import Settings
from ebmbench.core.params import FILE, Params
from ebmbench.core.registry import load, names
from ebmbench.core.schema import check, known
from ebmbench.training.job import Job, grid, shown

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
        settings = check(load("methods", method).Settings, section, FILE, key)
        known(settings.model, names("models"), FILE, f"{key}.model")
        _fits(method, settings.model, key)
        model = check(
            load("models", settings.model).Settings,
            params.models.get(settings.model, {}),
            FILE,
            f"models.{settings.model}",
        )
        yield settings, model, swept


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
                    f"{FILE}: {key}.{name}: found {said}, allowed: one or more different values (samplers, by kind)"
                )
            runs *= len(labels)
    if runs > MOST_RUNS:
        raise UserError(f"{FILE}: {key}: found {runs} runs (swept values × seeds), allowed: at most {MOST_RUNS}")


def _fits(method: str, model: str, key: str) -> None:
    """A method that chooses a noise level needs a network that has them, and no other can use one."""
    levels = "judged" in vars(load("methods", method).Method)
    if _has_levels(model) != levels:
        fitting = [name for name in names("models") if _has_levels(name) == levels]
        kind = "networks with noise levels" if levels else "networks without noise levels"
        raise UserError(f"{FILE}: {key}.model: found {model!r}, allowed: {kind} ({', '.join(fitting)})")


def _has_levels(model: str) -> bool:
    return hasattr(load("models", model).Model, "given")

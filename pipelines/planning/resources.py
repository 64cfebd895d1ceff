"""How many stages at a time: one per core that this process may use, unless the user says otherwise.

How much may run at once: stages, and among them those that ask for a GPU.

A cell asks in `params.yaml`, in a section that no stage depends on: where a cell runs makes nothing stale.

    resources:
      /cifar10: {gpu: 1}       # as `--only` names cells: METHOD, METHOD/DATASET or /DATASET, with wildcards
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ebmbench.config.yaml import lookup, read_mapping
from ebmbench.errors import UserError
from ebmbench.workspace.layout import PARAMS_YAML
from pipelines.planning.selection import cells_named, claims_of, stages_of


def jobs_or_cores(jobs: int | None) -> int:
    """The number of jobs asked for, checked, or the number of usable cores."""
    if jobs is None:
        # A container or `taskset` may allow fewer cores than the machine has; macOS cannot tell.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise UserError(f"jobs: found {jobs}, allowed: 1 or more")
    return jobs


ASKING = ("train", "sample", "evaluate")  # the stages of a cell that use its network


@dataclass(frozen=True)
class Room:
    """So many stages at a time, so many of them on a GPU of their own."""

    jobs: int
    gpus: int = 0

    def admits(self, gpus: int, running: Iterable[int]) -> bool:
        """Whether a stage that asks for `gpus` may start beside running ones that ask for these."""
        held = list(running)
        return len(held) < self.jobs and gpus <= self.gpus - sum(held)


def gpus_by_stage(root: Path) -> dict[str, int]:
    """For every stage of a cell that asks for any: how many GPUs. Where two patterns name a cell, the larger holds."""
    asked: dict[str, int] = {}
    if claims_of(root):  # which have no cells
        return asked
    for pattern, resources in (lookup(read_mapping(root / PARAMS_YAML), "resources") or {}).items():
        gpus = _gpus(resources)
        for item in cells_named(root, pattern, f"params.yaml: resources.{pattern}"):
            for stage in stages_of(item, ASKING):
                asked[stage] = max(gpus, asked.get(stage, 0))
    return {stage: gpus for stage, gpus in asked.items() if gpus}


def _gpus(resources: object) -> int:
    gpus = resources.get("gpu", 0) if isinstance(resources, Mapping) else 0
    return gpus if isinstance(gpus, int) else 0  # the form is for the parameters' schema to judge

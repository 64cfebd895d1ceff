"""How much may run at once: the number of stages, and how many of them may use a GPU.

A cell asks for GPUs in `params.yaml`, in a section that no stage depends on, so a request makes nothing stale:

    resources:
      /cifar10: {gpu: 1}       # the same patterns as `--only`: METHOD, METHOD/DATASET or /DATASET, with wildcards
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ebmbench.config.yaml import lookup, read_mapping
from ebmbench.errors import UserError
from ebmbench.workspace.layout import PARAMS_YAML
from pipelines.planning.selection import match_cells, suite_claims

GPU_STAGES = ("train", "sample", "evaluate")  # the stages of a cell that use its network


def count_jobs(jobs: int | None) -> int:
    """The number of stages at a time: `jobs`, checked, or one per usable core."""
    if jobs is None:
        # A container or `taskset` may allow fewer cores than the machine has; macOS cannot tell.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise UserError(f"jobs: found {jobs}, allowed: 1 or more")
    return jobs


@dataclass(frozen=True)
class Capacity:
    """The number of stages that may run at once, and the number of GPUs they may use together."""

    jobs: int
    gpus: int = 0

    def fits(self, gpus: int, running: Iterable[int]) -> bool:
        """Whether a stage with `gpus` GPUs can start beside running stages with these numbers of GPUs."""
        used = list(running)
        return len(used) < self.jobs and gpus <= self.gpus - sum(used)


def read_gpu_requests(root: Path) -> dict[str, int]:
    """The number of GPUs of every stage that asks for some; of several patterns for a cell the largest counts."""
    requests: dict[str, int] = {}
    if suite_claims(root):  # a suite of claims has no cells
        return requests
    for pattern, resources in (lookup(read_mapping(root / PARAMS_YAML), "resources") or {}).items():
        gpus = _gpus(resources)
        for cell in match_cells(root, pattern, f"params.yaml: resources.{pattern}"):
            for stage in (f"{kind}@{cell}" for kind in GPU_STAGES):
                requests[stage] = max(gpus, requests.get(stage, 0))
    return {stage: gpus for stage, gpus in requests.items() if gpus}


def _gpus(resources: object) -> int:
    gpus = resources.get("gpu", 0) if isinstance(resources, Mapping) else 0
    return gpus if isinstance(gpus, int) else 0  # the schema of params.yaml reports a wrong type

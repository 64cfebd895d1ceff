"""How many stages at a time: one per core that this process may use, unless the user says otherwise."""

import os

from ebmbench.core.errors import UserError


def jobs_or_cores(jobs: int | None) -> int:
    """The number of jobs asked for, checked, or the number of usable cores."""
    if jobs is None:
        # A container or `taskset` may allow fewer cores than the machine has; macOS cannot tell.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise UserError(f"jobs: found {jobs}, allowed: 1 or more")
    return jobs

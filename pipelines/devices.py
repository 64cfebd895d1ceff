"""The GPUs that this process may use, and one each for the jobs that ask.

`CUDA_VISIBLE_DEVICES` says which, as for any CUDA program; without it NVIDIA's own tool is asked. Torch would know
too, but takes seconds to import, and would then hold a context on every GPU.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue

from ebmbench.core.errors import UserError
from pipelines.plan import Stage

VISIBLE = "CUDA_VISIBLE_DEVICES"


def visible_gpus() -> list[str]:
    """Their names, as `CUDA_VISIBLE_DEVICES` takes them."""
    if VISIBLE in os.environ:
        names = [name.strip() for name in os.environ[VISIBLE].split(",")]
        return [name for name in names if name not in ("", "-1", "NoDevFiles")]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number, _ in enumerate(lines)] if listed.returncode == 0 else []


def require_gpus(stages: Sequence[Stage], gpus: int) -> None:
    """A machine without a GPU would wait for one for ever."""
    asking = [stage for stage in stages if stage.gpus > gpus]
    if asking:
        first = asking[0]
        raise UserError(
            f"params.yaml: resources: {first.name} asks for {first.gpus} GPU, found {gpus} on this machine; "
            "take the request out, or run with --runner dask on workers that have one"
        )


class Devices:
    """Lends each GPU to one job at a time."""

    def __init__(self, names: Sequence[str]) -> None:
        self.count = len(names)
        self._free: SimpleQueue[str] = SimpleQueue()
        for name in names:
            self._free.put(name)

    @contextmanager
    def lent(self, gpus: int) -> Iterator[dict[str, str]]:
        """The variables for a job that asks for so many. One that asks for none gets none, if there are any to lend."""
        names = [self._free.get() for _ in range(gpus)]
        try:
            yield {VISIBLE: ",".join(names)} if self.count else {}
        finally:
            for name in names:
                self._free.put(name)

"""Stages on this machine: each one supervised `dvc repro --single-item`, with a GPU of its own if its cell asks."""

from pathlib import Path
from threading import Event

from pipelines.devices import Devices, require_gpus, visible_gpus
from pipelines.outcome import Outcome
from pipelines.plan import Plan
from pipelines.room import Room
from pipelines.supervise import reproduce


class Local:
    """Runs stages in the workspace itself."""

    def __init__(self, root: Path, plan: Plan, jobs: int) -> None:
        self.root, self.jobs = root, jobs
        self.gpus = {stage.name: stage.gpus for stage in plan.todo if stage.gpus}
        self.devices = Devices(visible_gpus() if self.gpus else [])
        require_gpus(plan.todo, self.devices.count)

    @property
    def told(self) -> str:
        """For the first line of a run."""
        return f"{self.jobs} at a time"

    def room(self) -> Room:
        """What this machine has does not change."""
        return Room(self.jobs, self.devices.count)

    def run(self, stage: str, stop: Event, force: bool = False) -> Outcome:
        """Bring one stage up to date."""
        with self.devices.lent(self.gpus.get(stage, 0)) as variables:
            return reproduce(self.root, stage, stop, variables=variables, force=force)

"""Seconds of training, over all parts of a run that was stopped, and when its snapshots were taken."""

import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Clock:
    """Runs from when it is made; `spent` is what earlier parts took, `snapshots` are seconds by passes."""

    spent: float = 0.0
    snapshots: dict[int, float] = field(default_factory=dict)
    since: float | None = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, header: dict[str, Any]) -> "Clock":
        """The clock that a checkpoint kept, going on."""
        return cls(float(header["seconds"]), {int(passes): at for passes, at in header["snapshots"].items()})

    def seconds(self) -> float:
        """So far."""
        return self.spent + (time.perf_counter() - self.since if self.since is not None else 0.0)

    def stop(self) -> None:
        """No longer count."""
        self.spent, self.since = self.seconds(), None

    def as_dict(self) -> dict[str, Any]:
        """What is kept of it."""
        times = {str(passes): round(at, 3) for passes, at in self.snapshots.items()}
        return {"seconds": round(self.seconds(), 3), "snapshots": times}

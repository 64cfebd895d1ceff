"""Where the time of a training step goes: torch's operators by their own time, and what is left to Python."""

import time

from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.speed import problems, rows
from benchmarks.speed.contender import Contender
from benchmarks.speed.table import markdown

STEPS, WARM = 100, 20
TOP = 10


def profiled(one: Contender, name: str = "mle") -> str:
    """The ten operators that take most, per step, with their share of a step measured without the profiler."""
    learner = one.learner(rows.job(name), problems.eight_gaussians()[1])
    assert learner is not None
    learner.advance(WARM)
    start = time.perf_counter()
    learner.advance(STEPS)
    whole = (time.perf_counter() - start) / STEPS
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        learner.advance(STEPS)
    found = [event for event in seen.key_averages() if event.device_type == DeviceType.CPU]
    found.sort(key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in found)
    lines = [
        [f"`{event.key}`", f"{event.count / STEPS:.1f}", f"{event.self_cpu_time_total / STEPS / 1e3:.3f}",
         f"{event.self_cpu_time_total / total:.0%}"]
        for event in found[:TOP]
    ]  # fmt: skip
    said = (
        f"A step of {name} takes {1e3 * whole:.2f} ms; under the profiler, operators take {total / STEPS / 1e3:.2f} ms."
    )
    return said + "\n\n" + markdown(["operator", "calls a step", "own ms a step", "share of operators"], lines)

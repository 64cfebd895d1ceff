"""The speed page: its parts, and how one run of them becomes `reports/speed/speed.md`."""

import importlib
import os
import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.runs.clone import ROOT, git, read_version
from benchmarks.settings import Settings
from benchmarks.tables import Section, show_progress

PAGE = ROOT / "reports" / "speed" / "speed.md"
PACKAGES = ("torch", "torchebm", "ebmkit", "dvc", "prefect")

# In the order of the page: what is measured, and the module whose function `measure` does it.
PARTS = {
    "steps": ("chains, training steps and judging, side by side", "benchmarks.speed.side_by_side"),
    "suite": ("the default suite against the last release, and edits", "benchmarks.runs.release"),
    "stages": ("overhead per stage", "benchmarks.runs.overhead"),
    "modes": ("orchestration by `dvc repro`, by the flow and on Dask", "benchmarks.runs.orchestration"),
    "kl": ("time to a KL", "benchmarks.speed.time_to_kl"),
    "scaling": ("how cost grows with load, and where a training step's time goes", "benchmarks.speed.scaling"),
}


def measure_parts(names: Sequence[str], settings: Settings) -> Iterator[Section]:
    """Measure parts one after the other."""
    for number, name in enumerate(names):
        show_progress(f"part {number + 1} of {len(names)}: {PARTS[name][0]}")
        yield from importlib.import_module(PARTS[name][1]).measure(settings)


def render_page(sections: Sequence[Section], settings: Settings) -> str:
    """The whole page: the sentences of its sections first, then where it was measured, then the tables."""
    headlines = "\n".join(f"- {section.headline}" for section in sections if section.headline)
    parts = [f"## {section.title}\n\n{section.text}" for section in sections]
    return "\n\n".join(["# Speed", headlines, describe_machine(settings), *parts]) + "\n"


def describe_machine(settings: Settings) -> str:
    """Versions, processor, commit and date. Our version is that of pyproject.toml, not that of the installation."""
    versions = ", ".join([f"ebmbench {read_version('HEAD')}", *(f"{name} {_version(name)}" for name in PACKAGES)])
    machine = f"{_processor()}, {os.cpu_count()} cores, one thread"
    commit = git("describe", "--always", "--dirty", "--exclude", "*") or "unknown"
    python = f"Python {platform.python_version()}"
    return f"""Written by `make speed` on {datetime.now(UTC):%Y-%m-%d} at commit {commit}, {settings.rounds} rounds
([how it is measured](../../docs/speed.md)). {versions}; {python}; {machine}."""


def _processor() -> str:
    """The processor's name, if the system knows it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"

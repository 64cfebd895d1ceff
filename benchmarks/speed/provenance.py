"""What numbers were measured with: versions, processor, threads and commit, but no date."""

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]
PACKAGES = ("ebmbench", "torch", "torchebm", "ebmkit")


def provenance(rounds: int) -> str:
    """One line of Markdown."""
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    threads = f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)} of {os.cpu_count()} cores"
    return (
        f"{versions}; Python {platform.python_version()}; {processor()}, {threads}; commit {commit()}; {rounds} rounds."
    )


def processor() -> str:
    """The processor's own name where the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def commit() -> str:
    """The present commit, and whether files differ from it."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=ROOT, capture_output=True, text=True
    )
    return said.stdout.strip() or "unknown"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"

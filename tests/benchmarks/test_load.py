"""Load: memory stays within bounds that do not grow with the square of anything. No time is asserted."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import load
from benchmarks.load import CASES, ROOT

BOUND = 2000  # MiB; the imports take 250, one matrix of 100 000 × 100 000 would take 80 000


@pytest.mark.parametrize(
    ("case", "size"),
    [
        (load.plan_runs, {"seeds": 2, "sweep": 3}),
        (load.judge_points, {"count": 2000}),
        (load.search_neighbours, {"count": 300}),
        (load.train_long, {"budget": 20_000}),
    ],
)
def test_a_case_of_small_size_gives_its_line(case: Callable[..., str], size: dict[str, int], tmp_path: Path) -> None:
    assert re.match(r"\d+ ", case(tmp_path, **size))


def measure(case: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.load", "--one", case]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case != "train for long"])
def test_memory_stays_within_bounds(case: str) -> None:
    assert measure(case)["peak"] < BOUND


@pytest.mark.slow
def test_memory_of_a_long_run_stays_flat() -> None:
    growth = re.search(r"([+-][0-9.]+) after the first fifth", measure("train for long")["result"])
    assert growth is not None
    assert float(growth[1]) < 30

"""Load: memory stays within bounds that do not grow with the square of anything. No time is asserted."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.load import CASES, ROOT

pytestmark = pytest.mark.slow
BOUND = 2000  # MiB; the imports take 250, one matrix of 100 000 × 100 000 would take 80 000


def measured(case: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.load", "--one", case]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("case", [case for case in CASES if case != "train for long"])
def test_memory_stays_within_bounds(case: str) -> None:
    assert measured(case)["peak"] < BOUND


def test_memory_of_a_long_run_stays_flat() -> None:
    grown = re.search(r"([+-][0-9.]+) after the first fifth", measured("train for long")["result"])
    assert grown is not None
    assert float(grown[1]) < 30

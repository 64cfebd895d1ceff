"""Fixtures that every test may use: one thread, small facts, and a guard on the global generator."""

import math
import os
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load, names
from ebmbench.core.dataset import Facts

os.environ["DVC_NO_ANALYTICS"] = "1"  # else every `dvc` in a test's own project starts one more process

# They take minutes: begun last, they would leave all but one process without work at the end.
LONGEST = ("workflow/test_day.py", "workflow/", "pipelines/test_warm.py", "report/", "pipelines/", "tuning/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, the order inside a file as it is."""

    def place(item: pytest.Item) -> int:
        path = item.path.as_posix()
        return next((i for i, part in enumerate(LONGEST) if f"/tests/{part}" in path), len(LONGEST))

    items.sort(key=place)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def untouched_global_generator() -> Iterator[None]:
    """Fails the test if anything draws from, or seeds, torch's global generator."""
    before = torch.get_rng_state()
    yield
    assert torch.equal(before, torch.get_rng_state())


def gaussian_facts(d: int, scale: float = 1.0) -> Facts:
    """Facts of centred Gaussian data."""
    covariance = [[scale**2 if i == j else 0.0 for j in range(d)] for i in range(d)]
    return Facts("gaussian", [d], 1000, 1000, [0.0] * d, covariance, scale, "none", "none")


def binary_facts(*shape: int, mean: float = 0.4) -> Facts:
    """Facts of binary data with a mean that all units share."""
    units, variance = math.prod(shape), mean * (1 - mean)
    covariance = [[variance if i == j else 0.0 for j in range(units)] for i in range(units)]
    head = "binary", list(shape), 1000, 1000, [mean] * units, covariance, math.sqrt(variance), "none", "none"
    return Facts(*head, binary=True)


def labels_for(method: Any, x: Tensor) -> list[Tensor]:
    """Labels of two classes for a batch, if the method needs them."""
    return [torch.arange(len(x)) % 2] if method.needs_labels else []


def real_methods() -> list[str]:
    """The methods that apply to real-valued data."""
    return [name for name in names("methods") if not load("methods", name).Method.no_real]

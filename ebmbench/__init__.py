"""ebmbench: a benchmark of training methods for energy-based models."""

import importlib
from typing import Any

_HOMES = {
    "load": "ebmbench.training.trained",
    "Trained": "ebmbench.training.trained",
    "load_results": "ebmbench.report.results.table",
}

__all__ = ["Trained", "load", "load_results"]


def __getattr__(name: str) -> Any:
    # Lazy, so that `import ebmbench` costs nothing and a stage imports only what it declares to DVC.
    if name not in _HOMES:
        raise AttributeError(f"module 'ebmbench' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

"""ebmbench: a benchmark of training methods for energy-based models."""

import importlib
from typing import Any

_HOMES = {
    "Trained": "ebmbench.training.trained",
    "evaluate": "ebmbench.api",
    "load": "ebmbench.training.trained",
    "load_results": "ebmbench.report.results.table",
    "train": "ebmbench.api",
}

__all__ = ["Trained", "evaluate", "load", "load_results", "train"]


def __getattr__(name: str) -> Any:
    # Lazy, so that `import ebmbench` costs nothing and a stage imports only what it declares to DVC.
    if name not in _HOMES:
        from ebmbench.errors import nearest

        raise AttributeError(f"module 'ebmbench' has no attribute {name!r}, {nearest(name, _HOMES)}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*_HOMES, *(name for name in globals() if name.startswith("__"))])

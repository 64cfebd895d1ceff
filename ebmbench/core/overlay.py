"""Laying one mapping over another: how a suite changes the defaults, and a dataset's `overrides` the whole file."""

from typing import Any


def lay_over(base: Any, overlay: dict[str, Any]) -> None:
    """Mappings are merged, anything else is replaced; so is a sampler by one of another kind."""
    for key, value in overlay.items():
        same = isinstance(value, dict) and isinstance(base.get(key), dict)
        if same and value.get("kind", base[key].get("kind")) == base[key].get("kind"):
            lay_over(base[key], value)
        else:
            base[key] = value

"""Baselines: rows that are there for reference and do not compete."""

from ebmbench.config import registry
from ebmbench.workspace.layout import BASELINES


def baselines() -> list[str]:
    """Baselines in the order of the tables: the floor first."""
    return sorted(registry.names("baselines"), key=lambda name: (name != "oracle", name))


def is_baseline(name: str) -> bool:
    """Whether a row is there for reference and does not compete."""
    return name in baselines() or name == BASELINES

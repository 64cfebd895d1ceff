"""Why a stage is stale, as one line.

`dvc status` names only the section of `params.yaml` that changed ("methods.dsm"). The old values are in `dvc.lock`, so
the line can name the key ("methods.dsm.sigma").
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ebmbench.config.yaml import lookup, read_mapping

NEVER_RUN = "never run"
_SHOWN = 3
_WORDS = {"modified": "changed", "deleted": "missing", "new": "is new", "not in cache": "not in the cache"}


def explain_changes(root: Path, status: dict[str, list[Any]], locked: dict[str, Any]) -> dict[str, str]:
    """One line for every stage that `dvc status` lists; `locked` are the stages of `dvc.lock`."""
    return {stage: _line(root, changes, locked.get(stage)) for stage, changes in status.items()}


def _line(root: Path, changes: list[Any], locked: dict[str, Any] | None) -> str:
    if locked is None:
        return NEVER_RUN
    reasons = list(dict.fromkeys(_reasons(root, changes, locked)))
    more = len(reasons) - _SHOWN
    return "; ".join(reasons[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _reasons(root: Path, changes: list[Any], locked: dict[str, Any]) -> Iterator[str]:
    for change in changes:
        if isinstance(change, str):  # "changed command", "always changed"
            yield "command changed" if change == "changed command" else change
            continue
        for path, what in change.get("changed deps", {}).items():
            yield from _dependency(root, path, what, locked)
        outputs = set(change.get("changed outs", {}).values())
        if outputs:
            yield "outputs missing" if outputs == {"deleted"} else "outputs changed"


def _dependency(root: Path, path: str, what: str | dict[str, str], locked: dict[str, Any]) -> Iterator[str]:
    if isinstance(what, str):
        yield f"{path} {_WORDS.get(what, what)}"
        return
    before = locked.get("params", {}).get(path, {})
    now = read_mapping(root / path)
    for key, word in what.items():
        if word != "modified":
            yield f"{path}: {key} {_WORDS.get(word, word)}"
            continue
        for leaf in _differences(key, before.get(key), lookup(now, key)):
            yield f"{path}: {leaf} changed"


def _differences(key: str, before: Any, now: Any) -> Iterator[str]:
    if not (isinstance(before, dict) and isinstance(now, dict)) or before == now:
        yield key
        return
    for name in dict.fromkeys([*before, *now]):
        if before.get(name) != now.get(name):
            yield from _differences(f"{key}.{name}", before.get(name), now.get(name))

"""What may have caused the changes between two sides: parameters, files of the code, and the inputs of the runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ebmbench.report.compare.sides import WORKSPACE, Side
from ebmbench.report.text.numbers import MISSING
from ebmbench.workspace.git import ask_git
from ebmbench.workspace.layout import DVC_YAML

CODE = ("ebmbench", "pipelines", DVC_YAML, "constraints.txt", "pyproject.toml")


def compare_parameters(before: Side, after: Side) -> list[tuple[str, str, str]] | None:
    """Each key that differs with its values before and after; None if the parameters of a side are unknown."""
    if before.params is None or after.params is None:
        return None
    old, new = dict(_flatten(before.params)), dict(_flatten(after.params))
    keys = dict.fromkeys([*new, *old])
    return [(key, old.get(key, MISSING), new.get(key, MISSING)) for key in keys if old.get(key) != new.get(key)]


def _flatten(values: dict[str, Any], parent: str = "") -> Iterator[tuple[str, str]]:
    """`{"a": {"b": 1}}` as `a.b`, `1`."""
    for key, value in values.items():
        name = f"{parent}.{key}" if parent else str(key)
        if isinstance(value, dict) and value:
            yield from _flatten(value, name)
        else:
            yield name, repr(value) if isinstance(value, str) else str(value)


def compare_code(root: Path, before: Side, after: Side) -> list[tuple[str, int, int]] | None:
    """Each changed file with its lines added and removed; None if a commit is unknown.

    The workspace has no commit: its files count as they are now, with those that Git does not track yet.
    """
    commits = [side.commit for side in (before, after) if side.name != WORKSPACE]
    if not all(commit and ask_git(root, "cat-file", "-t", commit) == "commit" for commit in commits):
        return None
    if not commits:
        return []
    reverse = before.name == WORKSPACE
    options = ["--numstat", "--relative", *(["-R"] if reverse else [])]
    lines = ask_git(root, "diff", *options, *commits, "--", *CODE).splitlines()
    changes = [(file, _count(added), _count(removed)) for added, removed, file in (line.split("\t") for line in lines)]
    return changes + (_untracked(root, reverse) if len(commits) == 1 else [])


def _untracked(root: Path, reverse: bool) -> list[tuple[str, int, int]]:
    """Files that Git does not track yet: added, or removed if the workspace is the earlier side."""
    files = ask_git(root, "ls-files", "--others", "--exclude-standard", "--", *CODE).splitlines()
    sizes = {file: (root / file).read_bytes().count(b"\n") for file in files}
    return [(file, 0, size) if reverse else (file, size, 0) for file, size in sizes.items()]


def _count(text: str) -> int:
    return int(text) if text.isdigit() else 0  # Git writes "-" for binary files


def count_common_runs(before: Side, after: Side) -> tuple[int, int]:
    """How many runs both sides have, and how many of them have the same inputs, by their digests."""
    old, new = _digests(before), _digests(after)
    common = old.keys() & new.keys()
    return len(common), sum(old[run] == new[run] for run in common)


def _digests(side: Side) -> dict[tuple[str, str, str], str]:
    rows = side.frame[side.frame["digest"] != ""]
    columns = (rows[name] for name in ("dataset", "method", "label", "digest"))
    return {(dataset, method, label): digest for dataset, method, label, digest in zip(*columns, strict=True)}

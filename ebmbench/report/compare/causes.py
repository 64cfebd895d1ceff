"""What else changed between two sides: parameters key by key, and files of the code by Git."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ebmbench.report.compare.sides import WORKSPACE, Side
from ebmbench.workspace.git import ask_git

CODE = ("ebmbench", "pipelines", "dvc.yaml", "constraints.txt", "pyproject.toml")
ABSENT = "–"


def parameters(before: Side, after: Side) -> list[tuple[str, str, str]] | None:
    """Key, value before and after, of all that differ; None if a side does not say its parameters."""
    if before.params is None or after.params is None:
        return None
    old, new = dict(flat(before.params)), dict(flat(after.params))
    keys = [*new, *(key for key in old if key not in new)]
    return [(key, old.get(key, ABSENT), new.get(key, ABSENT)) for key in keys if old.get(key) != new.get(key)]


def flat(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """`{"a": {"b": 1}}` as `a.b`, `1`."""
    for key, value in values.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, dict) and value:
            yield from flat(value, name)
        else:
            yield name, repr(value) if isinstance(value, str) else str(value)


def code(root: Path, before: Side, after: Side) -> list[tuple[str, int, int]] | None:
    """File, lines added and removed, of the code that makes numbers; None if a commit is not known.

    The workspace has no commit: it is what the files are now, those that Git does not know yet too.
    """
    commits = [side.commit for side in (before, after) if side.name != WORKSPACE]
    if not all(commit and ask_git(root, "cat-file", "-t", commit) == "commit" for commit in commits):
        return None
    if not commits:
        return []
    now, back = WORKSPACE in (before.name, after.name), ["-R"] if before.name == WORKSPACE else []
    lines = ask_git(root, "diff", "--numstat", "--relative", *back, *commits, "--", *CODE).splitlines()
    found = [(file, _count(added), _count(removed)) for added, removed, file in (line.split("\t") for line in lines)]
    return found + (_unknown(root, bool(back)) if now else [])


def _unknown(root: Path, back: bool) -> list[tuple[str, int, int]]:
    """Files of the workspace that Git does not know yet: added, or removed if the workspace is the earlier side."""
    files = ask_git(root, "ls-files", "--others", "--exclude-standard", "--", *CODE).splitlines()
    sizes = {file: (root / file).read_bytes().count(b"\n") for file in files}
    return [(file, 0, size) if back else (file, size, 0) for file, size in sizes.items()]


def runs(before: Side, after: Side) -> tuple[int, int]:
    """How many runs both sides have, and how many of these were made from the same inputs, by their digests."""
    old, new = (_digests(side) for side in (before, after))
    common = old.keys() & new.keys()
    return len(common), sum(old[key] == new[key] for key in common)


def _digests(side: Side) -> dict[tuple[str, str, str], str]:
    rows = side.frame[side.frame["digest"] != ""]
    columns = (rows[name] for name in ("dataset", "method", "label", "digest"))
    return {(dataset, method, label): digest for dataset, method, label, digest in zip(*columns, strict=True)}


def _count(text: str) -> int:
    return int(text) if text.isdigit() else 0  # Git writes "-" for binary files

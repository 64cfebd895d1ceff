"""YAML as plain values: reading it safely, looking keys up, laying one mapping over another.

Depth and size are bounded, so that a small file can neither crash the program nor fill its memory: ten lines of aliases
of aliases stand for 10⁹ values, and a hundred thousand brackets overflow the stack of the parser written in C. Both are
seen in the stream of events, before anything is built.
"""

import copy
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent

DEEPEST = 50
MOST = 1_000_000  # values, with all that aliases repeat; DVC's lock of a hundred stages has 50 000
WIDEST = 2**63  # whole numbers that fit 64 bits, as all programs that read them expect


def plain(text: str) -> Any:
    """The values of a YAML 1.2 text; a ValueError says in words why it has none. A text is parsed once per process."""
    return copy.deepcopy(_parse(text))


@lru_cache(maxsize=8)  # by text, so that an edited file is parsed again
def _parse(text: str) -> Any:
    try:
        _check_size(text)
        value = YAML(typ="safe").load(text)
        _check_width(value, ())
    except (YAMLError, KeyError, TypeError, AttributeError) as error:  # the last three: a tag with a value unlike it
        raise ValueError(" ".join(str(error).split())[:300]) from error
    return value


def read_mapping(path: Path) -> dict[str, Any]:
    """A YAML mapping, or an empty one: whether the file is sound is for DVC and `load_params` to judge."""
    try:
        tree = plain(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return tree if isinstance(tree, dict) else {}


def lookup(tree: Any, key: str, default: Any = None) -> Any:
    """The value at a dotted key, or the default."""
    for name in key.split("."):
        if not isinstance(tree, dict) or name not in tree:
            return default
        tree = tree[name]
    return tree


def _check_size(text: str) -> None:
    """Refuse what is too deep or, with its aliases written out, too long."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in YAML(typ="safe").parse(text):
        if isinstance(event, CollectionEndEvent):
            anchor, before = open_nodes.pop()
            sizes[anchor or ""] = total - before
        elif isinstance(event, AliasEvent):
            if any(event.anchor == anchor for anchor, _ in open_nodes):
                raise ValueError(f"found '*{event.anchor}' inside what it stands for")
            total += sizes.get(event.anchor, 1)
        elif isinstance(event, NodeEvent):
            total += 1
        if isinstance(event, CollectionStartEvent):
            open_nodes.append((event.anchor, total - 1))
        if len(open_nodes) > DEEPEST or total > MOST:
            raise ValueError(f"found more than {DEEPEST} levels or {MOST} values (with what aliases repeat)")


def _check_width(value: Any, key: tuple[Any, ...]) -> None:
    """Refuse whole numbers beyond 64 bits."""
    if isinstance(value, int) and not -WIDEST <= value < WIDEST:
        raise ValueError(f"{'.'.join(map(str, key))}: found a whole number of {value.bit_length()} bits, allowed: 64")
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value) if _listed(value) else ():
        _check_width(inner, (*key, name))


def _listed(value: Any) -> bool:
    return isinstance(value, list | tuple | set)


def lay_over(base: Any, overlay: dict[str, Any]) -> None:
    """Mappings are merged, anything else is replaced; so is a sampler by one of another kind."""
    for key, value in overlay.items():
        same = isinstance(value, dict) and isinstance(base.get(key), dict)
        if same and value.get("kind", base[key].get("kind")) == base[key].get("kind"):
            lay_over(base[key], value)
        else:
            base[key] = value

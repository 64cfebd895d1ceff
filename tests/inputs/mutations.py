"""How `params.yaml` goes wrong: in its values, keys and nesting, in its text, and in its bytes."""

import copy
import io
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from ruamel.yaml import YAML

from ebmbench.errors import UserError

TEXTS = ["", "../x.py", "../../etc/passwd", "/etc/passwd", "~/x.py", "a/../../x.py", "x\x00.py", "‮", "🦊.npy"]
TEXTS += ["${benchmark.suite}", "cuda", "nan", "1e400", "x" * 5000, "\x1b[2J"]
SYNTAX = [
    "\t",
    "&a ",
    "*a",
    "!!int x",
    "!!float x",
    "!!python/object/apply:os.system [id]",
    "!!binary x",
    "<<: *a",
    "? ",
]
SYNTAX += ["- ", "{" * 3000, "[" * 3000, "9" * 5000, "2026-13-45", "0x" + "f" * 5000, "---\n", "...\n", "%YAML 1.1\n"]
SYNTAX += ["\r\n", "﻿", '"', "|\n", "!!set {a}", "!!omap [a: 1]", "1:2:3", "0o9", ".inf", ".nan", '"\\ud800"', "&a [*a]"]

KEYS = st.text(max_size=8) | st.integers() | st.none() | st.booleans() | st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | st.integers() | st.integers(10**18, 10**40) | st.floats() | st.text(max_size=20)
SCALARS |= st.sampled_from(TEXTS) | st.binary(max_size=5) | st.dates() | st.datetimes()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*place, key)
        yield from places(one, (*place, key))


@st.composite
def values(draw: st.DrawFn, text: str) -> bytes:
    """One to three values, keys or entries changed, doubled or lost."""
    tree = YAML(typ="safe").load(text)
    for _ in range(draw(st.integers(1, 3))):
        *outer, last = draw(st.sampled_from(list(places(tree))))
        owner = tree
        for key in outer:
            owner = owner[key]
        kind = draw(st.sampled_from(["value", "lost", "key", "twice"]))
        if kind == "value":
            owner[last] = draw(VALUES)
        elif kind == "twice" and isinstance(owner, list):
            owner.append(copy.deepcopy(owner[last]))
        else:
            lost = owner.pop(last)
            if kind == "key" and isinstance(owner, dict):
                owner[draw(KEYS)] = lost
        if not any(True for _ in places(tree)):
            break
    written = io.StringIO()
    YAML(typ="safe", pure=True).dump(tree, written)
    return written.getvalue().encode("utf-8", "surrogatepass")


@st.composite
def texts(draw: st.DrawFn, text: str) -> bytes:
    """One to three pieces of the text put in, cut out or written over, or its end lost."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        piece = draw(st.text(max_size=6) | st.sampled_from(SYNTAX))
        kind = draw(st.sampled_from(["in", "over", "out", "in", "over", "out", "end"]))
        skipped = {"in": 0, "over": len(piece), "out": draw(st.integers(1, 30)), "end": len(text)}[kind]
        text = text[:at] + (piece if kind in ("in", "over") else "") + text[at + skipped :]
    return text.encode("utf-8", "surrogatepass")


def files(text: str) -> st.SearchStrategy[bytes]:
    """Whole files, each a mutation of a sound one, or bytes that never were one."""
    body = text.encode()
    encoded = st.sampled_from(
        [body, b"\xef\xbb\xbf" + body, text.replace("\n", "\r\n").encode(), text.encode("utf-16")]
    )
    return values(text) | texts(text) | st.binary(max_size=60) | encoded


def refusal(act: Callable[[], object]) -> str | None:
    """The line in which a file is refused; any other error is a crash and ends the test."""
    try:
        act()
    except UserError as error:
        return str(error)
    return None

"""The reader of pickles: what is known is kept, all else is refused before it can do anything."""

import io
import pickle
from typing import Any

import pytest

from ebmbench.core.pickles import MOST, Name, NotPlain, read_pickle


class Kept:
    """Stands for a class; it keeps what it is given."""

    def __init__(self, *given: Any) -> None:
        self.given = given


KNOWN = {("a", "Known"): Kept}


def read(body: bytes, **more: Any) -> Any:
    return read_pickle(io.BytesIO(body), KNOWN, **more)


def test_a_known_name_stands_for_a_class_of_ours() -> None:
    found = read(b"\x80\x02ca\nKnown\nK\x07\x85R.")
    assert isinstance(found, Kept)
    assert found.given == (7,)


@pytest.mark.parametrize("state", [b"}", b"N}X\x07\x00\x00\x00meaningK\x01s\x86"])
def test_what_a_name_means_cannot_be_changed(state: bytes) -> None:
    with pytest.raises(NotPlain, match="changes what a name means"):
        read(b"\x80\x02ca\nKnown\n" + state + b"b.")
    assert KNOWN["a", "Known"] is Kept


def test_a_name_is_no_class_that_could_be_made_without_its_constructor() -> None:
    with pytest.raises(NotPlain, match="broken"):
        read(b"\x80\x02ca\nKnown\n)\x81.")
    assert isinstance(read(b"\x80\x02ca\nKnown\n."), Name)


def test_pickles_are_read_one_after_the_other() -> None:
    file = io.BytesIO(pickle.dumps([1, 2], protocol=2) + pickle.dumps("three", protocol=4) + b"the rest")
    assert [read_pickle(file, {}), read_pickle(file, {}), file.read()] == [[1, 2], "three", b"the rest"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\x80\x02cos\nsystem\nX\x01\x00\x00\x00l\x85R.", r"asks for os\.system"),
        (b"\x80\x02K\x01Q.", "asks for what is outside it"),
        (b"", "broken"),
        (b"no pickle", "broken"),
        (pickle.dumps(list(range(99)))[:-5], "broken"),
        (b"\x80\x04\x8e" + b"\xff" * 7 + b"\x0f.", "broken"),  # 2⁶⁰ bytes are announced
        (b"\x80\x02K\x01r\xff\xff\xff\xff.", "more than 100000 operations"),  # 2³² values are remembered
        (b"\x80\x02}K\x01" + b"\x85" * 1_000_000 + b"K\x01s.", "more than 100000 operations"),  # overflows C's stack
    ],
)
def test_what_would_do_harm_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(NotPlain, match=words):
        read(body)


def test_as_deep_as_is_allowed_does_no_harm() -> None:
    assert read(b"\x80\x02}K\x01" + b"\x85" * (MOST - 10) + b"K\x01s0K\x05.") == 5

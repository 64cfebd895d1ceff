"""Pickles that others publish, read by a reader that runs nothing: a pickle is a program, and this one may only keep.

A pickle asks for classes and functions by name. Each format has a table of the few names that it needs, and what they
stand for is ours: nothing is imported by name, no class of NumPy or torch is reached. A name can be called or handed
on and nothing else, since a pickle may also write into what it was given.
"""

import io
import pickle
import pickletools
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

MOST = 100_000  # operations: CIFAR-10's batches have 30 000, and C's stack holds as many tuples within tuples


class NotPlain(Exception):
    """The pickle asks for more than it is known to need, or is broken."""


class Name:
    """What a known name is to a pickle."""

    __slots__ = ("meaning",)

    def __init__(self, meaning: Any) -> None:
        self.meaning = meaning

    def __call__(self, *given: Any) -> Any:
        """What the pickle gets if it calls the name."""
        return self.meaning(*given)

    def __setstate__(self, _: Any) -> None:
        raise NotPlain("refused: the pickle changes what a name means")


class _Reader(pickle.Unpickler):
    def __init__(self, body: bytes, known: Mapping[tuple[str, str], Any], stored: Callable[[Any], Any] | None) -> None:
        super().__init__(io.BytesIO(body), encoding="latin1")  # Python 2 had one type for text and bytes
        self.known, self.stored = known, stored

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.known:
            raise NotPlain(f"refused: the pickle asks for {module}.{name}")
        return Name(self.known[module, name])

    def persistent_load(self, pid: Any) -> Any:
        if self.stored is None:
            raise NotPlain("refused: the pickle asks for what is outside it")
        return self.stored(pid)


def read_pickle(
    file: BinaryIO, known: Mapping[tuple[str, str], Any], stored: Callable[[Any], Any] | None = None
) -> Any:
    """The value of the pickle that starts here, and the file's place behind it.

    `known` says what names stand for, `stored` what the ids of objects outside the pickle do.
    """
    try:
        return _Reader(_one_pickle(file), known, stored).load()
    except (NotPlain, MemoryError):
        raise
    except Exception as error:  # a broken pickle can raise nearly anything
        raise NotPlain(f"a broken pickle: {error}") from error


def _one_pickle(file: BinaryIO) -> bytes:
    """Its bytes, once seen to be whole: the unpickler makes room for what is announced before it looks for it."""
    start = file.tell()
    for number, (operation, given, _) in enumerate(pickletools.genops(file)):
        # One of five bytes can ask for 2³² places to remember things in.
        if number >= MOST or (operation.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(given or 0) > MOST):
            raise NotPlain(f"refused: found a pickle of more than {MOST} operations")
    end = file.tell()
    file.seek(start)
    return file.read(end - start)

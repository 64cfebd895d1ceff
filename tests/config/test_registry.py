"""Files of methods, metrics and the like that are no Python: the line that refuses them names the file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ebmbench.config import registry
from ebmbench.config.registry import entries, names
from ebmbench.errors import UserError

SOUND = '"""A title."""\nPAPER = "A paper, 2020"\nYEAR = 2020\n'


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of its own, for the real one is what the tests run."""
    folder = tmp_path / "ebmbench"
    for kind in registry.KINDS:
        (folder / kind).mkdir(parents=True)
        (folder / kind / "sound.py").write_text(SOUND, encoding="utf-8")
    monkeypatch.setattr(registry, "PACKAGE", folder)
    entries.cache_clear()
    yield folder
    entries.cache_clear()


@pytest.mark.parametrize("kind", registry.KINDS)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (SOUND.encode() + b"# \xe9t\xe9\n", "can't decode byte 0xe9"),
        (SOUND.encode("utf-16"), "can't decode byte 0xff"),
        (b"def f(:\n", "invalid syntax"),
        (b"x\x00y = 1\n", "null bytes"),
        (b"PAPER = 'x'\n  YEAR = 1\n", "unexpected indent"),
        (b"x = " + b"(" * 5000, "nested"),
        (b"x = " + b"-" * 100_000 + b"1", ""),
        (SOUND.replace("2020", "'soon'").encode(), "YEAR: found"),
    ],
)
def test_a_file_that_is_no_python_is_named(package: Path, kind: str, body: bytes, reason: str) -> None:
    (package / kind / "mine.py").write_bytes(body)
    with pytest.raises(UserError, match=rf"^ebmbench/{kind}/mine\.py: .*{reason}.*, allowed: ") as caught:
        names(kind)
    assert str(package) not in str(caught.value)


def test_a_file_that_is_not_there_to_be_read_is_named(package: Path) -> None:
    (package / "methods" / "mine.py").symlink_to("nowhere.py")
    (package / "metrics" / "mine.py").mkdir()
    for kind in ("methods", "metrics"):
        with pytest.raises(UserError, match=rf"^ebmbench/{kind}/mine\.py: "):
            names(kind)
    assert names("models") == ["sound"]

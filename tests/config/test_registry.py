"""Files of methods, metrics and the like that are no Python or lack something: a line names the file and what."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ebmbench.config import registry
from ebmbench.config.registry import entries, names
from ebmbench.errors import UserError

SOUND = '"""A title."""\nPAPER = "A paper, 2020"\nYEAR = 2020\n'


def sound(kind: str) -> str:
    """A file with all that its kind requires."""
    return SOUND + "".join(f"{name} = 1\n" for name in registry.REQUIRED[kind][2:])


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of its own, for the real one is what the tests run."""
    folder = tmp_path / "ebmbench"
    for kind in registry.KINDS:
        (folder / kind).mkdir(parents=True)
        (folder / kind / "sound.py").write_text(sound(kind), encoding="utf-8")
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
        (SOUND.encode() + b"LINK = 'example.org'\n", "LINK: found 'example.org'"),
        (SOUND.encode() + b"LINK = ('https://example.org', 'javascript:alert(1)')\n", "LINK: found"),
        (SOUND.encode() + b"LINK = 'https://example.org/a)b'\n", "LINK: found"),
    ],
)
def test_a_file_that_is_no_python_is_named(package: Path, kind: str, body: bytes, reason: str) -> None:
    (package / kind / "mine.py").write_bytes(body + sound(kind).removeprefix(SOUND).encode())
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


@pytest.mark.parametrize(
    ("kind", "missing"), [(kind, name) for kind, required in registry.REQUIRED.items() for name in required]
)
def test_a_file_that_lacks_an_attribute_is_named_with_it(package: Path, kind: str, missing: str) -> None:
    (package / kind / "mine.py").write_text(sound(kind).replace(missing, f"no_{missing}"), encoding="utf-8")
    line = rf"^ebmbench/{kind}/mine\.py: found no {missing}, allowed: a file with .*{missing}"
    with pytest.raises(UserError, match=line):
        names(kind)


def test_a_class_a_function_and_an_import_all_define_an_attribute(package: Path) -> None:
    body = "from ebmbench.methods.sound import Settings\nclass Model: pass\n"
    (package / "models" / "mine.py").write_text(SOUND + body, encoding="utf-8")
    assert names("models") == ["mine", "sound"]


def test_links_are_read_in_their_order_and_a_file_of_ones_own_needs_none(package: Path) -> None:
    links = ("https://doi.org/10.1/2", "https://arxiv.org/abs/2211.02650")
    (package / "models" / "mine.py").write_text(sound("models") + f"LINK = {links!r}\n", encoding="utf-8")
    assert {name: entry.links for name, entry in entries("models").items()} == {"mine": links, "sound": ()}


def test_a_dataset_of_ones_own_needs_no_paper_and_is_not_listed(package: Path) -> None:
    (package / "data" / "mine.py").write_text("def density(): ...\n", encoding="utf-8")
    assert names("data") == ["sound"]

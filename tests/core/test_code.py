"""Which code a result depends on: comments do not change it, anything that runs does."""

from pathlib import Path

import pytest

from ebmbench.core import code
from ebmbench.core.code import code_hash, imported_files, source_hash
from ebmbench.core.registry import PACKAGE


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / PACKAGE.name
    (root / "a").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "a" / "__init__.py").write_text("")
    (root / "a" / "one.py").write_text(f"from {PACKAGE.name}.a import two\n\nX = two.Y\n")
    (root / "a" / "two.py").write_text('"""Text."""\n\nY = 1\n')
    (root / "a" / "other.py").write_text("Z = 1\n")
    monkeypatch.setattr(code, "PACKAGE", root)
    return root


def hashed(module: str) -> str:
    code._imports.cache_clear()
    code.tree_hash.cache_clear()
    code._code_hash.cache_clear()
    return code_hash([f"{PACKAGE.name}.{module}"])


def test_imports_are_followed_and_nothing_else(package: Path) -> None:
    found = [file.relative_to(package).as_posix() for file in imported_files([f"{PACKAGE.name}.a.one"])]
    assert found == ["__init__.py", "a/__init__.py", "a/one.py", "a/two.py"]


def test_a_comment_and_a_docstring_change_nothing_and_code_does(package: Path) -> None:
    before = hashed("a.one")
    (package / "a" / "two.py").write_text('"""Other text."""\n\n# why\nY = 1\n')
    (package / "a" / "other.py").write_text("Z = 2\n")
    assert hashed("a.one") == before
    (package / "a" / "two.py").write_text("Y = 2\n")
    assert hashed("a.one") != before


def test_a_datasets_hash_covers_the_code_that_it_imports(package: Path, tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text(f"from {PACKAGE.name}.a.two import Y\n")
    before = source_hash(source)
    (package / "a" / "two.py").write_text("Y = 3\n")
    code.tree_hash.cache_clear()
    code._code_hash.cache_clear()
    assert source_hash(source) != before


@pytest.mark.parametrize("name", ["eight_gaussians", "checkerboard"])
def test_the_embedded_datasets_depend_on_their_densities(name: str) -> None:
    files = imported_files(code._imports(PACKAGE / "data" / f"{name}.py"))
    assert any(file.parent.name == "densities" and file.stem in ("mixture", "squares") for file in files)

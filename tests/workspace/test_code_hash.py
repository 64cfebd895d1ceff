"""Which code a result depends on: comments do not change it, anything that runs does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ebmbench.config.registry import PACKAGE
from ebmbench.workspace import code_hash as code
from ebmbench.workspace.code_hash import code_hash, imported_files


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
    code.imports_of.cache_clear()
    code._imported_directly.cache_clear()
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


def test_imports_are_followed_out_of_the_package_and_into_the_project(package: Path) -> None:
    (package.parent / "helper.py").write_text("import deeper\n")
    (package.parent / "deeper.py").write_text("import json\n")
    (package / "a" / "one.py").write_text("import helper\n")
    code.imports_of.cache_clear()
    code._imported_directly.cache_clear()
    found = [file.name for file in imported_files([f"{PACKAGE.name}.a.one"])]
    assert found == ["deeper.py", "__init__.py", "__init__.py", "one.py", "helper.py"]
    before = hashed("a.one")
    (package.parent / "deeper.py").write_text("import math\n")
    assert hashed("a.one") != before


def test_the_versions_of_libraries_are_part_of_the_hash(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hashed("a.one")
    monkeypatch.setattr(code, "versions", lambda: {"torch": "0.0"})
    assert hashed("a.one") != before


FROZEN = """\
import sys
from pathlib import Path
sys.path.insert(0, {package!r})
from ebmbench.workspace import code_hash as code
root = Path.cwd()
code.freeze(root)
file = root / "helper.py"
{first}
file.write_text("X = 3\\n")
import helper
print(helper.X, code.text_of(file).decode().strip(), code.tree_hash(file) == {other!r})
"""


@pytest.mark.parametrize(("first", "value"), [("code.tree_hash(file)", 1), ("pass", 3)])
def test_what_is_imported_is_what_is_hashed_whoever_reads_the_file_first(
    tmp_path: Path, first: str, value: int
) -> None:
    """The file has the same length and may have the same time: Python itself would run its old compiled code."""
    helper = tmp_path / "helper.py"
    helper.write_text("X = 1\n")
    subprocess.run([sys.executable, "-c", "import helper"], cwd=tmp_path, check=True)  # leaves compiled code
    other = tmp_path / "other.py"
    other.write_text(f"X = {value}\n")
    script = FROZEN.format(package=str(PACKAGE.parent), first=first, other=code.tree_hash(other))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"{value} X = {value} True\n", done.stderr


def test_compiled_code_is_found_again_by_its_text_alone(tmp_path: Path) -> None:
    helper, script = tmp_path / "helper.py", FROZEN.format(package=str(PACKAGE.parent), first="pass", other="")
    script = script.replace('file.write_text("X = 3\\n")', "")
    for text in ("X = 1\n", "X = 2\n", "X = 1\n"):
        helper.write_text(text)
        os.utime(helper, (1e9, 1e9))
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout.startswith(text[4]), done.stderr


@pytest.mark.parametrize("name", ["eight_gaussians", "checkerboard"])
def test_the_embedded_datasets_depend_on_their_densities(name: str) -> None:
    files = imported_files(code.imports_of(PACKAGE / "data" / f"{name}.py"))
    assert PACKAGE / "data" / "common" / "densities.py" in files

"""Which code a result depends on: comments do not change it, anything that runs does."""

import hashlib
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


REMEMBERED = """\
import ast, sys
from pathlib import Path
sys.path.insert(0, {package!r})
from ebmbench.workspace import code_hash as code
code.freeze(Path.cwd())
parse, parsed = ast.parse, []
ast.parse = lambda *given, **options: parsed.append(1) or parse(*given, **options)
print(code.code_hash(["ebmbench.errors"]), len(parsed))
"""


def start_stage(folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", REMEMBERED.format(package=str(PACKAGE.parent))]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


def hash_in_stage(folder: Path) -> tuple[str, int]:
    """The hash that a stage computes, and how many files it parsed for it."""
    found, parsed = start_stage(folder).communicate()[0].split()
    return found, int(parsed)


def test_a_text_is_parsed_once_and_its_hash_stays_what_it_was(tmp_path: Path) -> None:
    expected = code_hash(["ebmbench.errors"])
    assert hash_in_stage(tmp_path) == (expected, 4)  # two files, each for its imports and for its hash
    assert hash_in_stage(tmp_path) == (expected, 0)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "of another Python", "of another kind"])
def test_a_damaged_memory_is_as_good_as_none(tmp_path: Path, damage: str) -> None:
    expected, _ = hash_in_stage(tmp_path)
    file = tmp_path / code.MEMORY
    text = file.read_bytes()
    body = {
        "cut": text[: len(text) // 2],
        "flipped": text.replace(b" tree", b" trea"),
        "empty": b"",
        "of another Python": text.replace(sys.version[:4].encode(), b"2.7."),
        "of another kind": text.partition(b"\n")[2],
    }[damage]
    if damage == "of another Python":
        body = hashlib.sha256(body.partition(b"\n")[2]).hexdigest().encode() + b"\n" + body.partition(b"\n")[2]
    file.write_bytes(body)
    assert hash_in_stage(tmp_path) == (expected, 4)
    assert hash_in_stage(tmp_path) == (expected, 0)


def test_stages_that_start_together_leave_a_whole_memory(tmp_path: Path) -> None:
    stages = [start_stage(tmp_path) for _ in range(4)]
    assert len({stage.communicate()[0].split()[0] for stage in stages}) == 1
    assert hash_in_stage(tmp_path)[1] == 0
    assert [file.name for file in (tmp_path / code.MEMORY).parent.iterdir()] == ["memory.json"]

"""One door to torchvision: it opens beside a CPU torch, leaves a working install alone, and nobody goes around it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from ebmbench.core import torch_compat

ROOT = Path(__file__).parents[2]
DOOR = ROOT / "ebmbench" / "core" / "vision.py"
BROKEN = """
import torch
if not hasattr(torch.ops.torchvision, "nms"):
    raise RuntimeError("operator torchvision::nms does not exist")
"""


def fresh(code: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter, with modules of `path` before all others, where every warning is an error."""
    before = f"import sys; sys.path.insert(0, {str(path)!r})\n" if path else ""
    command = [sys.executable, "-W", "error", "-c", before + code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_datasets_and_the_fidelity_library_open_without_a_warning() -> None:
    assert torch_compat.torchvision().datasets.MNIST.resources
    done = fresh("from ebmbench.core.torch_compat import torch_fidelity; assert torch_fidelity().calculate_metrics")
    assert done.returncode == 0, done.stderr


def fake(folder: Path, code: str) -> Path:
    (folder / "torchvision").mkdir()
    (folder / "torchvision" / "__init__.py").write_text(code, encoding="utf-8")
    return folder


def test_missing_operators_are_declared_and_the_import_is_repeated(tmp_path: Path) -> None:
    code = "import ebmbench.core.torch_compat as v, torch; assert v.torchvision(); assert torch.ops.torchvision.qnms"
    done = fresh(code, fake(tmp_path, BROKEN))
    assert done.returncode == 0, done.stderr


def test_a_working_install_is_left_alone(tmp_path: Path) -> None:
    code = "import ebmbench.core.torch_compat as v, torch; v.torchvision()\n"
    code += "assert not hasattr(torch.ops.torchvision, 'nms')"
    done = fresh(code, fake(tmp_path, "datasets = None"))
    assert done.returncode == 0, done.stderr


def test_another_error_is_not_hidden(tmp_path: Path) -> None:
    done = fresh(
        "import ebmbench.core.torch_compat as v; v.torchvision()", fake(tmp_path, "raise RuntimeError('else')")
    )
    assert "RuntimeError: else" in done.stderr


def imported(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.parametrize("folder", ["ebmbench", "pipelines", "tests"])
def test_nobody_goes_around_the_door(folder: str) -> None:
    for file in (ROOT / folder).rglob("*.py"):
        names = {name.partition(".")[0] for name in imported(file)}
        if file != DOOR and names & {"torchvision", "torch_fidelity"}:
            assert "ebmbench.core.torch_compat" in imported(file), file
        called = "import_module(" in (text := file.read_text(encoding="utf-8")) and '"torchvision' in text
        assert not called or file in (DOOR, Path(__file__)), file

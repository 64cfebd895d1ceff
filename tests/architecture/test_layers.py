"""The layers: who may import whom. Read from the files, so that a lazy import counts too."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ebmbench"

GROUND = {"config", "workspace", "errors"}
ALLOWED = {
    "config": {"config", "workspace", "errors"},
    "workspace": {"config", "workspace", "errors"},
    "core": {"core"} | GROUND,
    "data": {"core", "data"} | GROUND,
    "models": {"core", "models"} | GROUND,
    "samplers": {"core", "samplers"} | GROUND,
    "features": {"core", "features"} | GROUND,
    "methods": {"core", "samplers", "methods"} | GROUND,
    "metrics": {"core", "data", "features", "metrics"} | GROUND,
    "baselines": {"core", "data", "metrics", "baselines"} | GROUND,
    "training": {"core", "samplers", "training"} | GROUND,
    "experiment": {"core", "data", "features", "metrics", "samplers", "training", "experiment"} | GROUND,
    "report": {"report"} | GROUND,
    "claims": {
        *("core", "data", "features", "metrics", "methods", "models", "samplers", "training", "experiment"),
        *("report", "claims"),
    }
    | GROUND,
    "stages": {
        *("core", "data", "features", "samplers", "metrics", "training", "experiment", "report", "claims", "stages"),
    }
    | GROUND,
    "tuning": {"core", "data", "metrics", "samplers", "training", "experiment", "report", "tuning"} | GROUND,
    "cli": {"core", "report", "stages", "tuning", "experiment", "claims", "cli"} | GROUND,
}


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files(layer: str) -> list[Path]:
    return sorted((PACKAGE / layer).rglob("*.py"))


def test_every_folder_is_a_layer() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(ALLOWED)


@pytest.mark.parametrize("layer", list(ALLOWED))
def test_a_layer_imports_only_the_layers_below(layer: str) -> None:
    for file in files(layer):
        used = {name.split(".")[1] for name in imports(file) if name.startswith("ebmbench.") and name.count(".") >= 1}
        assert used <= ALLOWED[layer], f"{file.relative_to(ROOT)} imports {used - ALLOWED[layer]}"


def test_a_method_never_imports_another() -> None:
    for file in files("methods"):
        used = {name for name in imports(file) if re.match(r"ebmbench\.methods\b(?!\.common\b)", name)}
        assert not used, f"{file.name} imports {used}"


def test_nothing_below_the_command_line_knows_prefect_or_the_pipelines() -> None:
    for file in PACKAGE.rglob("*.py"):
        names = imports(file)
        assert not [name for name in names if re.match(r"prefect\b", name)], file
        if file.parent.name != "cli":
            assert not [name for name in names if re.match(r"pipelines\b", name)], file


def test_only_the_flows_import_prefect_and_only_the_cluster_dask() -> None:
    for file in (ROOT / "pipelines").rglob("*.py"):
        names = imports(file)
        if file.parent.name != "flows":
            assert not [name for name in names if re.match(r"prefect\b", name)], file
        if file.parent.name != "cluster":
            assert not [name for name in names if re.match(r"(prefect_dask|dask|distributed)\b", name)], file


def test_pipelines_hold_no_maths() -> None:
    for file in (ROOT / "pipelines").rglob("*.py"):
        names = imports(file)
        assert not [name for name in names if re.match(r"(torch|numpy|scipy|pandas)\b", name)], file
        used = {".".join(name.split(".")[:2]) for name in names if name.startswith("ebmbench")}
        # Two steps of the flow are functions of the package: how the cells stand, what moved since the last release.
        allowed = {"ebmbench.report"} if file.name == "publish.py" else set()
        assert used <= allowed | {f"ebmbench.{name}" for name in GROUND}, file


def test_no_pickle_can_run_a_program() -> None:
    # Two files that others publish are pickles: Inception's weights, read by torch as tensors and nothing else, and
    # CIFAR-10's batches, read by torchvision once their sums are right (tests/data/test_cifar10.py).
    weights, batches = PACKAGE / "features" / "inception.py", PACKAGE / "data" / "cifar10.py"
    for file in [*PACKAGE.rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        loads = re.findall(r"torch\.load\(.*", text)
        assert all("weights_only=True" in line and file == weights for line in loads), file
        assert file == batches or not re.search(r"CIFAR100?\b", text), file
        assert not re.search(r"allow_pickle=True|pickle\.loads?\(|import pickle|from pickle", text), file


@pytest.mark.parametrize(
    "module", ["ebmbench", "ebmbench.cli.project", "ebmbench.report.build", "ebmbench.stages.report"]
)
def test_the_report_and_the_lists_do_without_torch(module: str) -> None:
    code = f"import {module}, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0

"""torch's parts without slow imports are torch's own, and torchvision is imported in one place only."""

import ast
import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from ebmbench.core import torch_compat
from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import Adam, skip_init

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "ebmbench" / "core" / "torch_compat.py"
BROKEN = """
import torch
if not hasattr(torch.ops.torchvision, "nms"):
    raise RuntimeError("operator torchvision::nms does not exist")
"""


def steps(kind: type[torch.optim.Adam], fused: bool, split: int | None = None) -> list[torch.Tensor]:
    """Weights and moments after ten steps; after `split` of them the optimiser is rebuilt from its state dict."""
    weights = [nn.Parameter(torch.randn(5, 3, generator=stream(0, "w"))), nn.Parameter(torch.zeros(2))]
    optimiser = kind(weights, lr=0.1, betas=(0.5, 0.999), fused=fused)
    for step in range(10):
        if step == split:
            state = copy.deepcopy(optimiser.state_dict())
            optimiser = kind(weights, lr=0.3, fused=fused)
            optimiser.load_state_dict(state)
        optimiser.zero_grad()
        assert weights[0].grad is None
        (weights[0] * torch.randn(5, 3, generator=stream(step, "x"))).square().sum().backward()  # [1] has no gradient
        optimiser.param_groups[0]["lr"] = 0.1 / (1 + step)
        optimiser.step()
    assert list(optimiser.state_dict()["state"]) == [0]
    return [*(weight.detach() for weight in weights), *optimiser.state_dict()["state"][0].values()]


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("split", [None, 4])
def test_its_steps_and_its_state_are_those_of_torch_to_the_last_bit(fused: bool, split: int | None) -> None:
    ours, theirs = steps(Adam, fused, split), steps(torch.optim.Adam, fused)
    assert len(ours) == len(theirs) == 5
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_step_leaves_gradients_on_and_is_not_in_the_graph() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimiser = Adam([weight], lr=0.1, fused=True)
    weight.sum().backward()
    optimiser.step()
    assert torch.is_grad_enabled()
    assert weight.is_leaf
    assert weight.requires_grad


@pytest.mark.usefixtures("untouched_global_generator")
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_without_weights_is_torchs_layer_and_asks_no_generator(bias: bool) -> None:
    layer = skip_init(nn.Conv2d, 2, 4, 3, padding=1, bias=bias)
    with torch.random.fork_rng(devices=[]):
        model = nn.Conv2d(2, 4, 3, padding=1, bias=bias)
    assert repr(layer) == repr(model)
    shapes = {name: (w.shape, w.stride(), w.dtype, w.device) for name, w in layer.named_parameters()}
    assert shapes == {name: (w.shape, w.stride(), w.dtype, w.device) for name, w in model.named_parameters()}
    layer.load_state_dict(model.state_dict())
    x = torch.randn(1, 2, 5, 5, generator=stream(0, "x"))
    assert torch.equal(layer(x), model(x))


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
def test_torchvision_is_imported_in_one_place_only(folder: str) -> None:
    for file in (ROOT / folder).rglob("*.py"):
        names = imported(file)
        if {name.partition(".")[0] for name in names} & {"torchvision", "torch_fidelity"}:
            assert "ebmbench.core.torch_compat" in names, file
        called = "import_module(" in (text := file.read_text(encoding="utf-8")) and '"torchvision' in text
        assert not called or file in (MODULE, Path(__file__)), file

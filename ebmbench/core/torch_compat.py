"""Parts of torch, torchvision and torch-fidelity without their slow or broken imports and without side effects.

Every import of torchvision and torch-fidelity goes through `torchvision()` and `torch_fidelity()`: they take seconds,
so they are imported only where they are used.
"""

import importlib
import inspect
import sys
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry


class Adam(torch.optim.Adam):
    """`torch.optim.Adam` without the import of torch's compiler; states and numbers are torch's, bit for bit.

    θ ← θ − η m̂ / (√v̂ + ε), m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g² (Kingma & Ba, ICLR 2015, algorithm 1).
    torch wraps an optimiser's methods to keep them out of what `torch.compile` traces, and the first call of a wrapper
    imports the compiler, which takes half as long as torch itself. Here the methods are unwrapped, and once the moments
    exist, a fused step calls torch's two kernels directly: torch's own way to them takes longer than they do.
    """

    add_param_group: Any = inspect.unwrap(torch.optim.Adam.add_param_group)
    state_dict: Any = inspect.unwrap(torch.optim.Adam.state_dict)
    load_state_dict: Any = inspect.unwrap(torch.optim.Adam.load_state_dict)
    _torch_step: Any = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))  # its wrapper turned gradients off

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Move the weights, which are of one type and on one device."""
        group, *others = self.param_groups
        weights = [p for p in group["params"] if p.grad is not None]
        states = [self.state[p] for p in weights]
        if others or not group["fused"] or group["amsgrad"] or not all(states):
            self._torch_step()
            return
        gradients = [p.grad for p in weights]
        means, squares = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq"))
        steps, (beta1, beta2) = [state["step"] for state in states], group["betas"]
        options = {name: group[name] for name in ("lr", "weight_decay", "eps", "amsgrad", "maximize")}
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(weights, gradients, means, squares, [], steps, beta1=beta1, beta2=beta2, **options)

    step.hooked = True  # type: ignore[attr-defined]  # so that torch does not wrap it


class SGD:
    """θ ← θ − ηg, with the parts of torch's optimisers that the trainer uses. It has no state."""

    def __init__(self, parameters: Sequence[Tensor], lr: float) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": list(parameters), "lr": lr}]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move the weights."""
        moved = [p for p in self.param_groups[0]["params"] if p.grad is not None]
        torch._foreach_add_(moved, [p.grad for p in moved], alpha=-self.param_groups[0]["lr"])

    def state_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {"state": {}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to load."""


Layer = TypeVar("Layer", bound=nn.Module)


def skip_init(kind: type[Layer], *sizes: Any, **options: Any) -> Layer:
    """The layer `kind(*sizes, **options)` with weights that are not drawn yet; it must hold no other layers.

    A layer of torch draws its weights from the global generator when it is made, only for a named stream to draw them
    anew. `torch.nn.utils.skip_init` avoids that too, but imports SymPy, which takes a quarter of a second.
    """
    layer = kind(*sizes, **options, device="meta")  # where drawing costs nothing and asks no generator
    for name, weight in list(layer.named_parameters(recurse=False)):
        setattr(layer, name, nn.Parameter(torch.empty(weight.shape)))
    return layer


class FlopCounter(TorchDispatchMode):
    """The FLOPs of matrix products and convolutions that run inside, by torch's own formulas.

    `torch.utils.flop_counter.FlopCounterMode` counts the same, but takes some operations apart and hooks every module,
    and so changes the last bits of what it looks at. This one only looks. Its method is unwrapped like Adam's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operation, and add what it costs."""
        out = func(*args, **(kwargs or {}))
        if (formula := flop_registry.get(func.overloadpacket)) is not None:
            self.flops += int(formula(*args, **(kwargs or {}), out_val=out))
        return out


FlopCounter.__torch_dispatch__ = inspect.unwrap(FlopCounter.__torch_dispatch__)  # type: ignore[method-assign]


SYMPTOM = "torchvision::nms does not exist"
BOXES = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


@cache
def torchvision() -> ModuleType:
    """Import torchvision, whether or not its compiled part fits this torch.

    PyPI's torchvision is built for CUDA. Beside a CPU build of torch its compiled operators do not load, and its import
    fails with «operator torchvision::nms does not exist», although we need no such operator. Then, and only then, the
    operators' signatures are declared and the import is repeated.
    """
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if SYMPTOM not in str(error):
            raise
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # what the failed import left behind
    for operator in ("nms", "qnms"):
        torch.library.define(f"torchvision::{operator}", BOXES)
    return importlib.import_module("torchvision")


@cache
def torch_fidelity() -> ModuleType:
    """Import torch-fidelity, which imports torchvision itself."""
    torchvision()
    return importlib.import_module("torch_fidelity")

"""The one door to torchvision and torch-fidelity.

PyPI's torchvision is built for CUDA. Beside a CPU build of torch its compiled operators do not load, and its import
fails with «operator torchvision::nms does not exist» although we need no such operator. Then, and only then, the
operators' signatures are declared and the import is repeated; a working install is left alone.
"""

import importlib
import sys
from functools import cache
from types import ModuleType

import torch

SYMPTOM = "torchvision::nms does not exist"
BOXES = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


@cache
def torchvision() -> ModuleType:
    """The module, whether or not its compiled part fits this torch."""
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
    """torch-fidelity, which imports torchvision itself."""
    torchvision()
    return importlib.import_module("torch_fidelity")

"""Layers whose weights are not drawn yet.

A layer of torch's draws its weights from the global generator when it is made, only for a named stream to draw them
anew. `torch.nn.utils.skip_init` avoids that too, but the way it takes imports SymPy, a quarter of a second.
"""

from typing import Any, TypeVar

import torch
from torch import nn

Layer = TypeVar("Layer", bound=nn.Module)


def skip_init(kind: type[Layer], *sizes: Any, **options: Any) -> Layer:
    """The layer `kind(*sizes, **options)`, one without layers inside, with memory in place of weights."""
    layer = kind(*sizes, **options, device="meta")  # where drawing costs nothing and asks no generator
    for name, weight in list(layer.named_parameters(recurse=False)):
        setattr(layer, name, nn.Parameter(torch.empty(weight.shape)))
    return layer

"""Adam without the compiler's import: the same steps, a second earlier.

θ ← θ − η m̂ / (√v̂ + ε), m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g² (Kingma & Ba, ICLR 2015, algorithm 1).

torch wraps an optimiser's methods to keep them out of what `torch.compile` traces, and the first call of a wrapper
imports the compiler: half as long again as torch itself, for nothing where nothing is compiled. What stands below is
torch's own code without those wrappers, so states and numbers are torch's, bit for bit.
"""

import inspect
from typing import Any

import torch


class Adam(torch.optim.Adam):
    """`torch.optim.Adam`, of which no closure is asked and nothing is compiled."""

    add_param_group: Any = inspect.unwrap(torch.optim.Adam.add_param_group)
    zero_grad: Any = inspect.unwrap(torch.optim.Adam.zero_grad)
    state_dict: Any = inspect.unwrap(torch.optim.Adam.state_dict)
    load_state_dict: Any = inspect.unwrap(torch.optim.Adam.load_state_dict)
    step: Any = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))  # its wrapper turned gradients off

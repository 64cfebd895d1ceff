"""One run in progress: network, method, optimiser, averages, counts and history, and how a step changes them.

All of it is in `state()`, and every random draw is named by its step, so a trainer that is restored from a checkpoint
takes the same steps as one that never stopped, bit for bit.

Methods are compared under common random numbers: first weights and batches come from streams without a method in their
name, so that within one seed and dataset they are the same for all methods with the same network. Noise, levels and
chains belong to the method, and so do their streams.
"""

import copy
import math
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from ebmbench.config.registry import load
from ebmbench.core.checkpoint import add_prefix, select_prefix
from ebmbench.core.meter import Counts, Meter, StepCost
from ebmbench.core.streams import Draw, draws, normal
from ebmbench.core.torch_compat import SGD, Adam
from ebmbench.errors import UserError
from ebmbench.training.divergence import Diverged as Diverged
from ebmbench.training.divergence import Watch, readings
from ebmbench.training.job import Job, make_network, name_device
from ebmbench.workspace.layout import PARAMS_YAML

COMMON = "common"  # in the names of streams, the place of the method for what all methods share


class Average:
    """Exponential moving average of tensors: θ̄ ← θ̄ + (1 − β)(θ − θ̄), where β grows to `decay` in the first steps."""

    def __init__(self, parameters: list[Tensor], decay: float) -> None:
        self.parameters = parameters
        self.decay = decay
        self.values = [parameter.detach().clone() for parameter in parameters]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Add the weights after step number `step` (from 1); early steps forget the initialisation faster."""
        decay = min(self.decay, step / (10 + step))
        torch._foreach_lerp_(self.values, self.parameters, 1 - decay)

    @torch.no_grad()
    def apply(self) -> None:
        """Replace the weights by their averages, at the end of training."""
        for value, parameter in zip(self.values, self.parameters, strict=True):
            parameter.copy_(value)


def open_device(device: str) -> torch.device:
    """The device of that name, if this machine has it."""
    device = name_device(device)
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError(
            f"{PARAMS_YAML}: training.device: found 'cuda', but torch finds no GPU here, allowed: cpu, auto"
        )
    if device == "cuda":  # else cuDNN may choose algorithms that round differently from run to run
        torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = False, True
    return torch.device(device)


def match_layout(parameter: Tensor, moments: dict[str, Tensor]) -> dict[str, Tensor]:
    """Adam's moments in the memory order of their weight, which files lose and the fused Adam needs."""
    return {
        name: torch.empty_like(parameter).copy_(value) if value.shape == parameter.shape else value
        for name, value in moments.items()
    }


def joint_norm(gradients: list[Tensor]) -> Tensor:
    """The norm of all gradients together."""
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))


def clip_gradients(gradients: list[Tensor], norm: Tensor, most: float) -> None:
    """Shorten the gradients, whose joint norm is `norm`, in place to `most`, if they are longer."""
    torch._foreach_mul_(gradients, (most / (norm + 1e-6)).clamp_max_(1.0))


def _settle(network: nn.Module) -> None:
    if (settle := getattr(network, "settle", None)) is not None:
        settle()


class Trainer:
    """Trains one job on the data `(N, *event)`, a step at a time, until its budget of network passes is spent.

    The labels of the data, `(N,)`, if there are any, are for a method that needs them.
    """

    def __init__(self, job: Job, data: Tensor, labels: Tensor | None = None) -> None:
        self.job, self.data = job, data
        network = make_network(job.method, job.settings.model, job.model, job.facts)
        self.model = network.initialise(draws(job.seed, job.facts.name, COMMON, "weights")(job.settings.model))
        self.method = load("methods", job.method).Method(job.settings, job.facts)
        self.labels = [labels] if self.method.needs_labels and labels is not None else []
        self.method.observe(data)
        self.method.initialise(draws(job.seed, job.facts.name, job.method, "start"), self.model)
        self.device = open_device(job.training.device)
        self.model.to(self.device)
        self.method.to(self.device)
        self.meter, self.step_cost = Meter(self.model, seen=[]), StepCost()
        own = [parameter for parameter in self.method.parameters() if parameter.requires_grad]
        self.parameters: list[Tensor] = [*self.model.parameters(), *own]
        self.optimiser = self._optimiser()
        self.average = Average(self.parameters, job.training.ema)
        self.step = 0
        self.history: dict[str, list[float]] = {}
        size = math.prod(job.facts.shape)
        self.watch = Watch(job.training.divergence, job.training.budget, *self._chains(), size)
        self.healthy = 0  # passes at the last healthy checkpoint; 0: the start
        self.faults: list[dict[str, Any]] = []  # why the run was restarted

    def _optimiser(self) -> Adam | SGD:
        rate, training = self.job.settings.learning_rate, self.job.training
        if training.optimiser == "sgd":
            return SGD(self.parameters, rate)
        return Adam(self.parameters, lr=rate, betas=(training.beta1, 0.999), fused=True)

    def _chains(self) -> tuple[float, float]:
        """Temperature of the training chains, if there are any, and how the energy steers them."""
        sampler = getattr(self.method, "sampler", None)
        return (1.0, math.inf) if sampler is None else (float(sampler.temperature), float(sampler.steering))

    @property
    def progress(self) -> float:
        """The share of the budget that is spent."""
        return self.meter.counts.passes / self.job.training.budget

    def advance(self) -> None:
        """Train until the next row of history is due, and write it."""
        rows = self.job.training.rows
        due = math.floor(self.progress * rows) + 1
        losses, norms, first = 0.0, 0.0, self.step
        while self.progress * rows < due and self.progress < 1:
            loss, norm = self._update()
            losses, norms = losses + loss, norms + norm
        taken = self.step - first
        self._log({"loss": losses / taken, "gradient_norm": norms / taken})

    def _update(self) -> tuple[float, float]:
        """One optimiser step; raises `Diverged` before any weight is touched by a bad value."""
        rate = self.job.settings.learning_rate
        if self.job.training.schedule == "cosine":
            rate *= 0.5 * (1 + math.cos(math.pi * self.progress))
        rate *= 0.5 ** len(self.faults)
        self.method.pace = rate / self.job.settings.learning_rate
        self.optimiser.zero_grad()
        seen: list[Tensor] = []
        self.meter.seen = seen
        with self.step_cost.charge(self.meter.counts, self.step):
            loss = self._differentiate()
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        norm, most = joint_norm(gradients), self.job.training.clip
        values = readings(loss, norm, seen, self.method.last)
        self.watch.look(values, self.step, self.meter.counts.passes)
        if most is not None and values["gradient_norm"] > 0.99 * most:  # else the factor is one
            clip_gradients(gradients, norm, most)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.step += 1
        self.average.update(self.step)
        return values["loss"], values["gradient_norm"]

    def _differentiate(self) -> Tensor:
        """The loss of the next batch; its gradients are in the parameters."""
        if (renew := getattr(self.model, "renew", None)) is not None:  # a network that changes once a step, and no more
            renew()
        if (follow := getattr(self.model, "follow", None)) is not None:  # one that learns layer by layer
            follow(self.progress)
        x, *labels = self._batch(self._draws(COMMON))
        loss: Tensor = self.method(self.meter, x, self._draws(self.job.method), *labels)
        self.meter.backward(loss)
        return loss

    def _draws(self, owner: str) -> Draw:
        """The streams of this step that belong to the method, or to all methods; a restart has its own."""
        again = ("restart", len(self.faults)) if self.faults else ()
        return draws(self.job.seed, self.job.facts.name, owner, self.step, *again)

    def finish(self) -> None:
        """Replace the weights by their averages."""
        self.average.apply()
        _settle(self.model)

    @torch.no_grad()
    def averaged(self) -> nn.Module:
        """The network as it would be if training ended here; training itself is not touched."""
        network = copy.deepcopy(self.model)
        # The method's own parameters, which are averaged too, come after the network's.
        for parameter, value in zip(network.parameters(), self.average.values, strict=False):
            parameter.copy_(value)
        _settle(network)
        return network

    def _batch(self, draw: Draw) -> tuple[Tensor, ...]:
        """Data drawn with replacement, or all if a batch has as many; with a little noise if the protocol says so.

        Then their labels, if the method needs them.
        """
        size, parts = self.job.training.batch_size, [self.data, *self.labels]
        if size != len(self.data):
            index = torch.randint(len(self.data), (size,), generator=draw("batch"))
            parts = [part[index] for part in parts]
        x, *labels = [part.to(self.device) for part in parts]
        return self._noisy(x, draw), *labels

    def _noisy(self, x: Tensor, draw: Draw) -> Tensor:
        if not self.job.training.data_noise:
            return x
        return x + self.job.training.data_noise * self.job.facts.unit * normal(x, draw("data_noise"))

    def _log(self, values: dict[str, float]) -> None:
        rate = self.optimiser.param_groups[0]["lr"]
        row = {"step": self.step, "passes": self.meter.counts.passes, **values, "learning_rate": rate}
        row, earlier = {**row, **self.method.health()}, len(self.history.get("step", []))
        for name in {**self.history, **row}:  # a number that is not known at a row leaves a gap
            self.history.setdefault(name, [math.nan] * earlier).append(float(row.get(name, math.nan)))

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything that the next step depends on: tensors and a header."""
        tensors = {
            **add_prefix("model", self.model.state_dict()),
            **add_prefix("method", self.method.state_dict()),
            **add_prefix("average", {str(i): value for i, value in enumerate(self.average.values)}),
            **add_prefix("history", {name: torch.tensor(v, dtype=torch.float64) for name, v in self.history.items()}),
        }
        for i, moments in self.optimiser.state_dict()["state"].items():
            tensors |= add_prefix(f"optimiser.{i}", moments)
        header = {"step": self.step, "counts": self.meter.counts.as_dict(), "history": list(self.history)}
        header["step_cost"] = asdict(self.step_cost)
        return tensors, header | {"watch": self.watch.state(), "healthy": self.healthy, "faults": self.faults}

    def restore(self, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
        """Become the trainer whose `state()` this was."""
        self.step = header["step"]
        self.meter.counts = Counts(**header["counts"])
        self.step_cost = StepCost(**header.get("step_cost", {}))
        self.watch.restore(header["watch"])
        self.healthy, self.faults = header["healthy"], header["faults"]
        self.model.load_state_dict(select_prefix("model", tensors))
        self.method.load_state_dict(select_prefix("method", tensors))
        for i, value in enumerate(self.average.values):
            value.copy_(tensors[f"average.{i}"])
        self.history = {name: tensors[f"history.{name}"].tolist() for name in header["history"]}
        saved = self.optimiser.state_dict()
        moments = {i: select_prefix(f"optimiser.{i}", tensors) for i in range(len(self.parameters))}
        # A weight that never had a gradient (the last bias, under a score loss) has no moments.
        saved["state"] = {i: match_layout(self.parameters[i], found) for i, found in moments.items() if found}
        self.optimiser.load_state_dict(saved)

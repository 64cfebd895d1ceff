"""What a metric sees: the model under judgement, held-out data, and the truth where it is known.

A metric gives a `Value`. One that cannot be computed is a `Value` without number and with the reason; nothing
is replaced.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.binary import FEWEST_VISIBLE, offers_gibbs
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, score
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Density
from ebmbench.metrics.common.annealing import Bracket, anneal
from ebmbench.metrics.common.annealing_base import make_base
from ebmbench.metrics.common.annealing_binary import Coins
from ebmbench.metrics.common.flow import Flow, Resolution
from ebmbench.metrics.common.quadrature import (
    HALF_WIDTHS,
    Quadrature,
    coarsest,
    enumerate_states,
    in_chunks,
    integrate,
    refine,
    tabulate,
)
from ebmbench.metrics.common.shared import Shared, Tensors
from ebmbench.metrics.common.subject import MISCALIBRATED as MISCALIBRATED
from ebmbench.metrics.common.subject import UNMIXED as UNMIXED
from ebmbench.metrics.common.subject import Score as Score
from ebmbench.metrics.common.subject import Subject as Subject
from ebmbench.metrics.common.subject import Unavailable as Unavailable
from ebmbench.metrics.common.subject import Value as Value

MASS_TOLERANCE = 1e-3
FLOW_TOLERANCE = 5e-3  # of the mass of a flow's density
EVENTS = 64  # of the test set, which tell how many steps a flow needs


@dataclass(frozen=True)
class Evaluation:
    """One subject against one dataset. The quadrature is done once and shared by all metrics."""

    subject: Subject
    test: Tensor
    density: Density | None
    facts: Facts
    settings: Settings
    train: Tensor | None = None
    features: Path | None = None  # the folder of the dataset's reference classifier
    shared: Shared | None = None  # what all models of the dataset have in common, if it is stored
    data: Path | None = None  # the folder of the prepared dataset
    labels: Tensor | None = None  # of the test events

    @cached_property
    def grid(self) -> Quadrature:
        """log q on a grid that holds the model's mass; of binary data, on all states."""
        if self.bounded:
            raise Unavailable("the model's density is not known, only a bound of it (variational_bound)")
        return self._held(self.energy, "the model") if self.subject.flow is None else self._flow_grid()

    def _flow_grid(self) -> Quadrature:
        """Every point is the solution of an ODE, so it is the coarsest grid that resolves the truth.

        A model may have spikes that are finer: if its mass is not 1 there, cells are halved, and then the square is
        made wider.
        """
        self._require_plane()
        cells, narrow, flow = self._coarsest_cells(), HALF_WIDTHS[0], self.flow_log_density
        grid = tabulate(flow, self.facts, narrow, cells)
        if abs(grid.mass - 1) > MASS_TOLERANCE:
            grid = refine(flow, grid)
        if abs(grid.mass - 1) > FLOW_TOLERANCE:
            grid = refine(flow, grid)
        if grid.mass < 1 - FLOW_TOLERANCE:
            grid = tabulate(flow, self.facts, 2 * narrow, 2 * cells)
        if abs(grid.mass - 1) <= FLOW_TOLERANCE:
            return replace(grid, source=f"{self.flow_protocol}, mass {grid.mass:.4f}")
        said = f"the mass of the probability-flow ODE's density is {grid.mass:.4f} on the last grid, not 1"
        raise Unavailable(said, fault=MISCALIBRATED)

    def _coarsest_cells(self) -> int:
        """The truth decides; where it is not known, half of the cells."""
        density, cells = self.density, self.settings.cells
        if density is None:
            return cells // 2
        found = self.share(
            __name__,
            lambda: {"cells": torch.tensor(coarsest(density.log_prob, self.facts, cells))},
            name="coarsest cells",
            cells=cells,
        )
        return int(found["cells"])

    @property
    def flow(self) -> Flow:
        """The subject's probability-flow ODE."""
        if self.subject.flow is None:
            raise Unavailable("the model has no noise levels")
        return self.subject.flow

    @cached_property
    def flow_resolution(self) -> Resolution:
        """How many steps the flow is solved by, told by some test events."""
        found = self.flow.resolve(self.test[:EVENTS])
        if not found.fine:
            said = f"the probability-flow ODE is not solved: with {2 * found.steps} steps in place of {found.steps}"
            raise Unavailable(f"{said} log q moves by {found.error:.3g} nats", fault=MISCALIBRATED)
        return found

    @property
    def flow_protocol(self) -> str:
        """How the flow is solved."""
        solved = f"{self.flow_resolution.steps} Dormand-Prince steps (error {self.flow_resolution.error:.1e})"
        return f"log q by the probability-flow ODE, {solved}, {self.flow.divergence}"

    def flow_log_density(self, x: Tensor) -> Tensor:
        """log q of the flow, `(B,)`."""
        return self.flow.log_density(x, self.flow_resolution.steps)

    @cached_property
    def test_log_q(self) -> Tensor:
        """log q of each test event."""
        if self.bounded:
            raise Unavailable("the model's likelihood is not known, only a bound of it (variational_bound)")
        log_z, _ = self.log_z  # of a flow too: a density whose mass is not 1 is not used
        if self.subject.flow is not None:
            return self.flow_log_density(self.test)
        with torch.no_grad():
            return -self.energy(self.test.double()) - log_z

    @property
    def bounded(self) -> bool:
        """Whether the energy of an event is variational, so that −E − log Z is only a lower bound of log q."""
        return bool(getattr(self.subject.energy, "bounded", False))

    @cached_property
    def log_z(self) -> tuple[float, str]:
        """log Z and how it was found: by the model itself, if it has few hidden units, else on the grid."""
        exact = getattr(self.subject.energy, "log_partition", None)
        if exact is not None and (found := exact()) is not None:
            return found, "by enumeration of the machine's own units"
        return self.grid.log_z, self.grid.protocol

    @property
    def test_protocol(self) -> str:
        """How it came about."""
        how = f"log Z: {self.log_z[1]}" if self.subject.flow is None else self.grid.source
        return f"{len(self.test)} test events; {how}"

    @property
    def truth_grid(self) -> Quadrature:
        """log p on a grid of the truth's own."""
        return self._held(lambda x: -self.truth.log_prob(x), "the data")

    def _held(self, energy: Energy, whose: str) -> Quadrature:
        if self.facts.binary:
            self._require_few_units()
            return enumerate_states(energy, self.facts.shape)
        self._require_plane()
        grid = integrate(energy, self.facts, self.settings.cells)
        if not grid.held:
            said = f"no grid holds {whose}'s mass: a share of {grid.outside:.1e} lies outside the largest"
            raise Unavailable(said, fault=MISCALIBRATED)
        return grid

    def _require_plane(self) -> None:
        if math.prod(self.facts.shape) != 2:
            raise Unavailable(f"quadrature needs 2 dimensions, the data have {math.prod(self.facts.shape)}")

    def _require_few_units(self) -> None:
        units = math.prod(self.facts.shape)
        if units > FEWEST_VISIBLE:
            raise Unavailable(f"enumeration needs at most {FEWEST_VISIBLE} binary units, the data have {units}")

    def share(self, module: str, make: Callable[[], Tensors], **inputs: Any) -> Tensors:
        """What `make()` computes of the data alone: once for all models, if it can be stored (`Shared.obtain`)."""
        if self.shared is None:
            return make()
        return self.shared.obtain(module, make, facts=self.facts.as_dict(), **inputs)

    def on_grid(self, name: str, function: Callable[[Tensor], Tensor], **inputs: Any) -> Tensor:
        """A function of the data alone at the grid's points; most models have the same grid."""
        axes = [hashlib.sha256(axis.numpy().tobytes()).hexdigest() for axis in self.grid.axes]
        points = self.grid.points
        inputs |= {"name": name, "axes": axes}
        return self.share(__name__, lambda: {"values": in_chunks(function, points)}, **inputs)["values"]

    @cached_property
    def log_truth(self) -> Tensor:
        """log p of the data on the same grid."""
        log_p = self.on_grid("log p", self.truth.log_prob)
        mass = self.grid.integral(log_p.exp())
        if abs(mass - 1) > MASS_TOLERANCE:
            raise Unavailable(f"the grid does not resolve or hold the data's mass: it sums to {mass:.4f}, not to 1")
        return log_p

    @property
    def log_target(self) -> Tensor:
        """log p of what the method aims at, on the same grid."""
        target, origin = self.subject.target, self.subject.target_origin
        if target is None:
            raise Unavailable("the density that the method aims at is not known")
        if target is self.density:
            return self.on_grid("log p", target.log_prob)
        if origin is None:
            return in_chunks(target.log_prob, self.grid.points)
        return self.on_grid("log target", target.log_prob, target=origin)

    @cached_property
    def annealing(self) -> Bracket:
        """log Z by annealed importance sampling: forward and, if there are samples of the model, reverse."""
        if self.subject.flow is not None:
            raise Unavailable("the density of a noise ladder is that of its flow, which flow_likelihood judges")
        samples: Tensor | str
        energy = self.energy
        try:
            samples = self.samples
        except Unavailable as reason:
            samples = str(reason)
        if not self.facts.binary:
            return anneal(energy, make_base(self.facts, self.train), self.settings.ais, samples)
        if not offers_gibbs(energy):
            raise Unavailable("annealing of binary units needs an energy with Gibbs sweeps")
        if (deep := getattr(energy, "partition_machine", None)) is None:
            return anneal(energy, Coins.of(self.facts), self.settings.ais, samples)
        # The normaliser of a deep model is that of a machine with other visible units, which are drawn given events.
        machine, lift = deep(), lambda x: energy.lift(x.double(), stream(0, "ais", "lift"))  # type: ignore[attr-defined]
        coins = Coins([len(machine.visible_bias)], torch.zeros_like(machine.visible_bias))
        return anneal(machine, coins, self.settings.ais, samples if isinstance(samples, str) else lift(samples))

    def nearest_mode(self, x: Tensor) -> Tensor:
        """The index of the nearest mode centre, `(B,)`."""
        return torch.cdist(x, self.smooth_truth.centres).argmin(1)

    @property
    def energy(self) -> Energy:
        """The subject's energy."""
        if self.subject.energy is None:
            raise Unavailable("there is no energy to evaluate")
        return self.subject.energy

    def score(self, x: Tensor) -> Tensor:
        """The subject's score at x, of its energy if it has no score of its own."""
        return self.subject.score(x) if self.subject.score is not None else score(self.energy, x)

    @property
    def samples_protocol(self) -> str:
        """How many samples there are, and by which sampler."""
        return f"{len(self.samples)} samples" + (f" by {self.subject.sampler}" if self.subject.sampler else "")

    @property
    def samples(self) -> Tensor:
        """The subject's samples, all finite."""
        if self.subject.samples is None:
            raise Unavailable("there are no samples")
        lost = int((~torch.isfinite(self.subject.samples.flatten(1)).all(1)).sum())
        if lost:
            raise Unavailable(f"{lost} of {len(self.subject.samples)} samples are not finite")
        return self.subject.samples

    @property
    def trace(self) -> Tensor:
        """Numbers along the second half of long runs, `(chains, draws, K)`, all finite."""
        if self.subject.trace is None:
            raise Unavailable("no stationary chain was traced")
        if not torch.isfinite(self.subject.trace).all():
            raise Unavailable("the traced chains are not finite", fault=UNMIXED)
        return self.subject.trace

    @property
    def truth(self) -> Density:
        """The data's exact density; of binary data it has neither score nor modes (see `smooth_truth`)."""
        if self.density is None:
            raise Unavailable("the data's density is not known")
        return self.density

    @property
    def smooth_truth(self) -> Density:
        """The data's exact density with its score and its modes."""
        if self.facts.binary:
            raise Unavailable("binary data have neither a score nor centres of modes")
        return self.truth

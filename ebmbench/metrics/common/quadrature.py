"""log Z = log ∫ exp(−E) by the midpoint rule in the plane, on a square that is shown to hold the mass.

The square grows (half-widths 4, 6, 8, 16 data deviations about the mean) until the share of mass that a much
wider, coarser grid finds outside it is below 10⁻⁶. If even the widest fails, `held` is False and nobody should
quote a number. For smooth densities the midpoint rule converges faster than any power of the cell; it is exact
to ~10⁻⁸ with cells of half a mode's deviation.

A log-density that is normalised already (`tabulate`) needs no log Z; if it is dear, a coarser grid that still resolves
the data will do (`coarsest`).

Of binary data the grid is that of all states, and nothing is approximate (`enumerate_states`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from ebmbench.core.binary import states
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy, fixed

HALF_WIDTHS = (4.0, 6.0, 8.0, 16.0)
WIDEST = 64.0
TOLERANCE = 1e-6
CHUNK = 2_048
RESOLVED = 1e-3  # of mass and of entropy, in nats
DEPTH = 12.0  # nats


@dataclass(frozen=True)
class Quadrature:
    """Midpoints `(G², 2)` row by row, log q there, log Z, the log-area of a cell, and the share of mass outside."""

    axes: tuple[Tensor, ...]
    points: Tensor
    log_q: Tensor
    log_z: float
    log_cell: float
    outside: float
    source: str = ""  # where log q comes from, if not from an energy

    @property
    def held(self) -> bool:
        """Whether the grid holds the mass."""
        return self.outside < TOLERANCE

    @property
    def protocol(self) -> str:
        """How the numbers came about."""
        if not self.axes:
            return self.source
        axis = self.axes[0]
        rule = f"midpoint rule, {len(axis)}² cells of side {float(axis[1] - axis[0]):.3g}"
        return f"{rule}; {self.source}" if self.source else rule

    def integral(self, values: Tensor) -> float:
        """∫ of values given on the points."""
        return float(values.sum() * math.exp(self.log_cell))

    @property
    def mass(self) -> float:
        """∫ q over the square."""
        return self.integral(self.log_q.exp())

    def interpolate(self, x: Tensor) -> Tensor:
        """log q at other points `(B, 2)` inside the square, by cubic interpolation: for pictures."""
        middle, reach = (torch.stack([(axis[-1] + sign * axis[0]) / 2 for axis in self.axes]) for sign in (1, -1))
        table = self.log_q.reshape(1, 1, len(self.axes[1]), len(self.axes[0]))
        places = ((x - middle) / reach).reshape(1, 1, -1, 2)
        return grid_sample(table, places, "bicubic", "border", align_corners=True).flatten()


def integrate(energy: Energy, facts: Facts, cells: int) -> Quadrature:
    """The smallest grid that holds the mass, or the largest there is."""
    energy = fixed(energy)
    far_axes, far_points = _midpoints(facts, WIDEST, cells)
    far = -in_chunks(energy, far_points)
    grid = None
    for half_width in HALF_WIDTHS:
        # Wider squares get more cells, up to twice, so that a mode is not lost between them.
        grid = _grid(energy, facts, half_width, round(cells * min(half_width / HALF_WIDTHS[0], 2)))
        reach = half_width * facts.scale
        beyond = far[((far_points - torch.tensor(facts.mean).double()).abs() > reach).any(1)]
        tail = float(beyond.logsumexp(0)) + _log_cell(far_axes) - grid.log_z
        grid = Quadrature(grid.axes, grid.points, grid.log_q, grid.log_z, grid.log_cell, _share(tail))
        if grid.held:
            break
    assert grid is not None
    return grid


def enumerate_states(energy: Energy, shape: Sequence[int]) -> Quadrature:
    """All states of few binary units, each of weight one."""
    units = math.prod(shape)
    points = states(units).reshape(-1, *shape)
    minus = -in_chunks(fixed(energy), points)
    log_z = float(minus.logsumexp(0))
    return Quadrature((), points, minus - log_z, log_z, 0.0, 0.0, f"all 2^{units} states")


def tabulate(log_density: Callable[[Tensor], Tensor], facts: Facts, half_width: float, cells: int) -> Quadrature:
    """A normalised log-density on one square, as it is; `half_width` in data deviations."""
    axes, points = _midpoints(facts, half_width, cells)
    return _as_it_is(axes, points, log_density(points))


def refine(log_density: Callable[[Tensor], Tensor], grid: Quadrature) -> Quadrature:
    """The same on cells half as wide; far below the peak, where hardly any mass is, by interpolation."""
    x, y = (_halved(axis) for axis in grid.axes)
    points = torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1).reshape(-1, 2)
    log_q = grid.interpolate(points)
    near = log_q > grid.log_q.max() - DEPTH
    log_q[near] = log_density(points[near])
    return _as_it_is((x, y), points, log_q)


def _halved(axis: Tensor) -> Tensor:
    quarter = (axis[1] - axis[0]) / 4
    return torch.stack([axis - quarter, axis + quarter], dim=1).flatten()


def _as_it_is(axes: tuple[Tensor, Tensor], points: Tensor, log_q: Tensor) -> Quadrature:
    log_cell = _log_cell(axes)
    log_mass = float(log_q.logsumexp(0)) + log_cell
    return Quadrature(axes, points, log_q, 0.0, log_cell, max(0.0, -math.expm1(log_mass)))


def coarsest(log_density: Callable[[Tensor], Tensor], facts: Facts, cells: int) -> int:
    """The fewest cells an axis, of a quarter, half and all, with the mass and entropy that all of them give."""
    fine, *_ = wanted = [_moments(log_density, facts, count) for count in (cells, cells // 2, cells // 4)]
    near = [all(abs(a - b) <= RESOLVED for a, b in zip(fine, one, strict=True)) for one in wanted]
    return cells // 4 if all(near) else cells // 2 if near[1] else cells


def _moments(log_density: Callable[[Tensor], Tensor], facts: Facts, cells: int) -> tuple[float, float]:
    grid = tabulate(lambda x: in_chunks(log_density, x), facts, HALF_WIDTHS[0], cells)
    return grid.mass, grid.integral(-grid.log_q.exp() * grid.log_q)


def _grid(energy: Energy, facts: Facts, half_width: float, cells: int) -> Quadrature:
    axes, points = _midpoints(facts, half_width, cells)
    log_cell = _log_cell(axes)
    minus = -in_chunks(energy, points)
    log_z = float(minus.logsumexp(0)) + log_cell
    return Quadrature(axes, points, minus - log_z, log_z, log_cell, outside=math.nan)


def _midpoints(facts: Facts, half_width: float, cells: int) -> tuple[tuple[Tensor, Tensor], Tensor]:
    unit = (torch.arange(cells, dtype=torch.float64) + 0.5) / cells * 2 - 1
    x, y = (mean + half_width * facts.scale * unit for mean in facts.mean)
    return (x, y), torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1).reshape(-1, 2)


@torch.no_grad()
def in_chunks(function: Callable[[Tensor], Tensor], points: Tensor) -> Tensor:
    """A function of many points, a few at a time: bounded memory, and faster because the cache holds a chunk."""
    return torch.cat([function(chunk) for chunk in points.split(CHUNK)])


def _log_cell(axes: tuple[Tensor, Tensor]) -> float:
    return sum(math.log(float(axis[1] - axis[0])) for axis in axes)


def _share(log_ratio: float) -> float:
    """r/(1 + r) from log r; not a number stays not a number, and so is never below the tolerance."""
    return 1 / (1 + math.exp(-log_ratio)) if log_ratio > -700 else 0.0 if log_ratio < 0 else math.nan

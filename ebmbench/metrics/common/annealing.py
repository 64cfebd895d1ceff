"""Annealed importance sampling (Neal 2001), forward and reverse: log Z of an energy from both sides.

Between a base p₀ with known normaliser (`annealing_base`) and exp(−E) lie f_β = p₀^(1−β) · exp(−βE), with
0 = β₁ < … < β_K = 1, in the base's coordinates y. A chain starts at x₁ ~ p₀ and takes for each β between a transition
that leaves f_β in place. Its weight

    log w = Σ_k (β_{k+1} − β_k) · (−E(x_k) − log p₀(x_k))

is unbiased, E w = Z: so E log w ≤ log Z, and log mean w, the *forward* estimate, is on average too low. A chain that
starts at a sample of the model and goes the same way back has E w′ = 1/Z with the negative sum: −log mean w′, the
*reverse* estimate, is on average too high (Grosse et al. 2015). Each errs on the other side by b nats with probability
at most e^(−b) (Markov). Together they are a bracket of log Z, never sorted: reverse below forward by more than
`CROSSED` standard errors says that the starts are not the model's. The converse does not hold. With starts from q in
place of the model's p, E w′ = (1/Z) · E[q(x)/p(x)] over the ends x of forward chains: wrong starts are not seen where
forward chains end as p says, or where they seldom come.

The reverse estimate is a bound only from the model's own samples at temperature 1. Samples as benchmarks draw them are
not: on images they are colder by orders of magnitude. So chains *settle* first: half of them start at such samples,
half at ends of forward chains, resampled by their weights (which makes them the model's as far as the weights go), and
all take `settle` adjusted transitions at β = 1. They count as settled if, over the second half of these, the two groups
and the two halves in time agree in E and in log p₀: nested R̂ = √(1 + B/W), of many short chains (Margossian et al.
2024), at most `SETTLED`, B being the variance of the four means, W that inside. Else there is no reverse estimate.

A transition is one Hamiltonian proposal of `LEAPFROG` steps, reflected at walls, accepted by Metropolis' rule: it
leaves f_β exactly in place and can be run backwards. E, its gradient and log p₀ are kept with the state, so that a
change of β costs nothing. Of binary units a transition is a Gibbs sweep, and the path another (`annealing_binary`).

A *pilot* pass finds the step size with an acceptance of `ACCEPTANCE` for each β, and the schedule: temperatures at
equal steps of ∫ √Var_β(−E − log p₀) dβ, along which each adds alike to the variance of the log-weight (Gelman & Meng
1998; Grosse et al. 2013), except for a share `EVEN` that is spread evenly, in case the pilot was wrong. Both are fixed
before the chains that count begin, so that their weights stay exactly unbiased. Measured with 30 temperatures, mean
log-weights forward and reverse lie 23 nats apart on a Gaussian a tenth as wide as the data in ten dimensions (linear
schedule: 69, sigmoid: 34), and 1.05 on a network that learned `eight_gaussians` (linear: 1.27, sigmoid: 1.48).

Standard errors are those of the delta method, √((1/share − 1)/N) with the effective share of chains (Σw)²/(N Σw²). A
share near 1/N means that one chain decides; then the error is no more to be trusted than the estimate.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from ebmbench.config.sections import Annealing as Settings
from ebmbench.core.energy import Energy, energy_and_score, fixed
from ebmbench.core.streams import stream
from ebmbench.metrics.common.annealing_base import ACCEPTANCE, Base
from ebmbench.metrics.common.annealing_base import interpolate as interpolate
from ebmbench.metrics.common.annealing_base import sigmoid as sigmoid
from ebmbench.metrics.common.annealing_base import spread as spread
from ebmbench.metrics.common.annealing_binary import BinaryPath, Coins

LEAPFROG = 3  # 1 to 5 did alike at equal numbers of gradients
PILOT = 200  # temperatures of the pilot pass, at least
GAIN = 0.5  # how fast the pilot's step size follows
CROSSED = 3.0  # standard errors
SETTLED = 1.02  # the means of the two groups then differ by a third of a deviation at most
DRAWS = 50  # of settling chains, at most
STRIDES = (1.0, 0.5)  # of settling chains, in turn: those that start cold are refused steps that suit the others


class Schedule(NamedTuple):
    """β from 0 to 1 (or back) and the step size of the transition at each, both `(K,)`."""

    betas: Tensor
    step_sizes: Tensor

    def reversed(self) -> "Schedule":
        """The same way back."""
        return Schedule(self.betas.flip(0), self.step_sizes.flip(0))


class State(NamedTuple):
    """Where chains are: y, E, the score of E in y, and log p₀."""

    y: Tensor
    e: Tensor
    s: Tensor
    log_base: Tensor

    def log_density(self, beta: float) -> Tensor:
        """log f_β, `(B,)`."""
        return (1 - beta) * self.log_base - beta * self.e

    def slope(self, beta: float) -> Tensor:
        """∇ log f_β in y, `(B, d)`."""
        return beta * self.s - (1 - beta) * self.y

    def log_ratio(self) -> Tensor:
        """d log f_β/dβ = −E − log p₀, `(B,)`."""
        return -self.e - self.log_base


class Path:
    """The densities f_β between a base and an energy."""

    def __init__(self, energy: Energy, base: Base) -> None:
        self.energy, self.base = fixed(energy), base

    def at(self, y: Tensor) -> State:
        """What is known at y; no graph is kept."""
        e, s = energy_and_score(self.energy, self.base.events(y))
        return State(y, e.detach(), self.base.pull_back(s), self.base.log_prob(y))

    def transition(self, state: State, beta: float, step_size: float, generator: Generator) -> tuple[State, Tensor]:
        """One proposal for every chain, accepted or refused: the new state, and the probabilities of acceptance."""
        momentum = torch.randn(state.y.shape, generator=generator, dtype=torch.float64)
        proposal, end = self._leapfrog(state, momentum, beta, step_size)
        gain = proposal.log_density(beta) - state.log_density(beta)
        gain = gain + 0.5 * (momentum.square() - end.square()).sum(1)
        # A ratio that is not a number is refused.
        accept = torch.rand(len(gain), generator=generator, dtype=torch.float64).log() < gain
        pairs = zip(proposal, state, strict=True)
        chosen = [torch.where(accept if old.dim() == 1 else accept[:, None], new, old) for new, old in pairs]
        return State(*chosen), gain.clamp_max(0).exp().nan_to_num(0)

    def increment(self, state: State, start: float, end: float) -> Tensor:
        """log f at β = `end` over f at β = `start`, `(B,)`."""
        return (end - start) * state.log_ratio()

    def slope(self, state: State, beta: float) -> Tensor:
        """d log f_β/dβ, `(B,)`."""
        return state.log_ratio()

    def _leapfrog(self, state: State, momentum: Tensor, beta: float, step_size: float) -> tuple[State, Tensor]:
        for _ in range(LEAPFROG):
            momentum = momentum + 0.5 * step_size * state.slope(beta)
            y, momentum = self.base.reflect(state.y + step_size * momentum, momentum)
            state = self.at(y)
            momentum = momentum + 0.5 * step_size * state.slope(beta)
        return state, momentum


AnyPath = Any
"""`Path`, or `BinaryPath`: from a base to an energy, of real or of binary events."""


def pilot(path: AnyPath, settings: Settings, generator: Generator) -> Schedule:
    """The schedule, and a step size for each of its temperatures, from a forward pass that is then forgotten."""
    betas = sigmoid(max(PILOT, settings.temperatures // 4))
    state = path.at(path.base.draw(max(2, settings.chains // 2), generator))
    log_step, steps, speeds = 0.5 * math.log(settings.step_size), [], []
    for beta in betas.tolist():
        speeds.append(path.slope(state, beta).std().item())
        state, acceptance = path.transition(state, beta, math.exp(log_step), generator)
        log_step += GAIN * (acceptance.mean().item() - ACCEPTANCE)
        steps.append(log_step)
    chosen = spread(betas, torch.tensor(speeds, dtype=torch.float64), settings.temperatures)
    return Schedule(chosen, interpolate(chosen, betas, torch.tensor(steps, dtype=torch.float64)).exp())


@dataclass(frozen=True)
class Estimate:
    """log Z from N chains, its standard error, and the effective share of the chains."""

    log_z: float
    error: float
    share: float
    chains: int

    @classmethod
    def of(cls, log_w: Tensor, sign: int = 1) -> "Estimate":
        """log mean w, or with sign −1 (of w′, whose mean is 1/Z) its negative."""
        n, total = len(log_w), log_w.logsumexp(0)
        share = float((2 * total - (2 * log_w).logsumexp(0)).exp()) / n
        return cls(sign * (float(total) - math.log(n)), math.sqrt(max(1 / share - 1, 0) / n), share, n)


@dataclass(frozen=True)
class Bracket:
    """The forward estimate, and the reverse one with where its chains started, or why there is none."""

    forward: Estimate
    reverse: Estimate | None
    missing: str
    protocol: str
    starts: str = ""

    @property
    def gap(self) -> tuple[float, float]:
        """Reverse − forward with its standard error; not a number without a reverse estimate."""
        if self.reverse is None:
            return math.nan, math.nan
        return self.reverse.log_z - self.forward.log_z, math.hypot(self.forward.error, self.reverse.error)

    @property
    def crossed(self) -> str:
        """By how much the bracket is crossed and what that means; empty if it is not, or there is none."""
        gap, error = self.gap
        if not gap < -CROSSED * error:
            return ""
        return (
            f"the bracket of log Z is crossed by {-gap:.3g} nats ({-gap / max(error, 1e-12):.0f} standard errors): "
            f"what reverse chains start from are not the model's samples, so there is no upper bound"
        )


class Settlement(NamedTuple):
    """Where chains are after transitions at β = 1, `(N, d)`, nested R̂, the mean energy of samples and at the end."""

    y: Tensor
    r_hat: float
    before: float
    after: float

    @property
    def settled(self) -> bool:
        """Whether nothing speaks against their being samples of the model."""
        return self.r_hat <= SETTLED

    def __str__(self) -> str:
        """For protocols."""
        return f"nested R̂ {self.r_hat:.3f}, mean energy {self.after:.4g}, of samples {self.before:.4g}"


def anneal(energy: Energy, base: Base | Coins, settings: Settings, samples: Tensor | str) -> Bracket:
    """Both estimates, the reverse one from chains that settle after samples; or why there are no samples."""
    path = BinaryPath(energy, base) if isinstance(base, Coins) else Path(energy, base)
    schedule = pilot(path, settings, stream(0, "ais", "pilot"))
    log_w, ends = forward(path, schedule, settings.chains, stream(0, "ais", "forward"))
    ahead = Estimate.of(log_w)
    protocol = f"AIS, {settings.chains} chains, {settings.temperatures} temperatures, base {base}"
    if isinstance(starts := _starts(base, samples, log_w, ends), str):
        return Bracket(ahead, None, starts, protocol)
    found = settle(path, starts, settings.settle, schedule.step_sizes[-1].item(), stream(0, "ais", "settle"))
    after = f"after {settings.settle} transitions at T = 1"
    if not found.settled:
        return Bracket(ahead, None, f"chains have not settled: {found} {after}", protocol)
    back = Estimate.of(reverse(path, schedule, found.y, stream(0, "ais", "reverse")), sign=-1)
    return Bracket(ahead, back, "", protocol, f"chains {after} ({found})")


def _starts(base: Base | Coins, samples: Tensor | str, log_w: Tensor, ends: Tensor) -> Tensor | str:
    """Two groups of starts `(2, N/2, d)`, samples (moved into the box) and forward ends; or why none."""
    if isinstance(samples, str):
        return samples
    half = max(2, len(ends) // 2)
    if not torch.isfinite(log_w).any():
        return "no forward chain has a finite weight"
    generator = stream(0, "ais", "starts")
    order = torch.randperm(len(samples), generator=generator)
    chosen = base.coordinates(samples[order[torch.arange(half) % len(order)]])
    # Systematic resampling: the expected number of copies of an end is its weight.
    places = (torch.arange(half, dtype=torch.float64) + torch.rand((), generator=generator, dtype=torch.float64)) / half
    index = torch.searchsorted(log_w.nan_to_num(-math.inf).softmax(0).cumsum(0), places).clamp_max(len(ends) - 1)
    return torch.stack([chosen, ends[index]])


def settle(path: AnyPath, starts: Tensor, steps: int, step_size: float, generator: Generator) -> Settlement:
    """Groups of chains `(G, M, d)` after adjusted transitions at β = 1, seen along the second half of these."""
    groups, chains = starts.shape[:2]
    state = path.at(starts.flatten(0, 1))
    before, seen, stride = state.e[:chains].mean().item(), [], max(1, steps // 2 // DRAWS)
    for left in range(steps - 1, -1, -1):
        state, _ = path.transition(state, 1.0, step_size * STRIDES[left % len(STRIDES)], generator)
        if left < steps // 2 and left % stride == 0:
            seen.append(torch.stack([state.e, state.log_base]).reshape(2, groups, chains))
    r_hat = max((nested_r_hat(draws) for draws in torch.stack(seen, dim=-1)), default=math.inf)
    return Settlement(state.y, r_hat, before, state.e.mean().item())


def nested_r_hat(draws: Tensor) -> float:
    """√(1 + B/W) of draws `(G, M, n)`, each group cut in two halves in time; infinite if nothing moves.

    A number that is the same in all states, such as log p₀ of fair coins, tells nothing: 1.
    """
    n = draws.shape[-1] // 2
    cut = torch.cat([draws[..., :n], draws[..., draws.shape[-1] - n :]]).flatten(1)
    between, within = cut.mean(1).var().item(), cut.var(1).mean().item()
    return math.sqrt(1 + between / within) if within > 0 else math.inf if between > 0 else 1.0


def forward(path: AnyPath, schedule: Schedule, chains: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """log w of chains from the base to the model, `(chains,)`, and where they end, `(chains, d)`."""
    return _log_weights(path, path.base.draw(chains, generator), schedule, generator)


def reverse(path: AnyPath, schedule: Schedule, y: Tensor, generator: Generator) -> Tensor:
    """log w′ of chains from samples of the model, in coordinates `(N, d)`, to the base."""
    return _log_weights(path, y, schedule.reversed(), generator)[0]


def _log_weights(path: AnyPath, y: Tensor, schedule: Schedule, generator: Generator) -> tuple[Tensor, Tensor]:
    """A step in β is weighed where the chain is before it; after the last there is no need to move."""
    betas, steps, state = schedule.betas.tolist(), schedule.step_sizes.tolist(), path.at(y)
    log_w = path.increment(state, betas[0], betas[1])
    for k in range(1, len(betas) - 1):
        state, _ = path.transition(state, betas[k], steps[k], generator)
        log_w = log_w + path.increment(state, betas[k], betas[k + 1])
    return log_w, state.y

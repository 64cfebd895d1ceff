"""Have chains met? Split R̂ and the effective sample size, both of ranks (Vehtari et al. 2021).

Draws of C chains are cut in two halves each and replaced by normal scores of their ranks, z = Φ⁻¹((r − ⅜)/(S + ¼)).
With W the mean variance inside the half chains and B that of their means, times n,

    R̂ = √(((n − 1)/n · W + B/n) / W),

taken of z and of the ranks of |x − median|, which sees chains that differ in spread; the larger counts. The effective
sample size is S/τ̂ with τ̂ = 1 + 2 Σ ρ_t, where ρ_t = 1 − (W − mean autocovariance at lag t)/V̂ with V̂ = R̂²W, and the sum
ends by Geyer's rule: pairs ρ_{2k} + ρ_{2k+1} are positive and made to decrease. Both are those of Stan and ArviZ.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special  # and not stats, which takes half a second to import

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

Draws = NDArray[np.float64]  # (chains, draws)
FEWEST = 8  # draws of a chain
ROUNDING = 1e-20  # variances that are smaller are the arithmetic's noise


def read_trace(e: Evaluation) -> dict[str, Draws]:
    """The traced numbers of the long runs, by name; `Unavailable` if there are too few draws."""
    draws = e.trace.double().numpy()
    if draws.shape[1] < FEWEST:
        raise Unavailable(f"needs {FEWEST} draws of a chain, has {draws.shape[1]}")
    return {name: draws[:, :, place] for place, name in enumerate(e.subject.traced)}


def make_value(e: Evaluation, value: float, name: str) -> Value:
    """A `Value` that names the traced number it comes from."""
    chains, draws = e.trace.shape[:2]
    return Value(value, n=chains * draws, protocol=f"{chains} chains, {draws} draws; of {name}")


def r_hat(draws: Draws) -> float:
    """R̂ of one number along all chains; infinite if no chain moves, though they differ."""
    halves = split(draws)
    folded = np.abs(halves - np.median(halves))
    return max(_r_hat(normal_scores(halves)), _r_hat(normal_scores(folded)))


def effective_sample_size(draws: Draws) -> float:
    """How many independent draws are worth as much, by the ranks (bulk ESS)."""
    z = normal_scores(split(draws))
    chains, n = z.shape
    within, pooled = _variances(z)
    if not pooled > ROUNDING:
        return float(z.size)  # ranks that are all equal carry no correlation
    rho = 1 - (within - _autocovariance(z).mean(0)) / pooled
    tau = max(_summed(rho), 1 / math.log10(chains * n))
    return chains * n / tau


def split(draws: Draws) -> Draws:
    """Each chain as its two halves; of an odd number of draws the middle one is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def normal_scores(draws: Draws) -> Draws:
    """Ranks over all chains, as quantiles of a normal."""
    scores: Draws = special.ndtri((ranks(draws) - 0.375) / (draws.size + 0.25))
    return scores


def ranks(draws: Draws) -> Draws:
    """From 1, over all chains; ties share the mean of theirs, and beside a NaN nothing has a rank."""
    if np.isnan(draws).any():
        return np.full_like(draws, np.nan)
    _, place, counts = np.unique(draws, return_inverse=True, return_counts=True)
    shared: Draws = (counts.cumsum() - (counts - 1) / 2)[place]
    return shared.reshape(draws.shape)


def _r_hat(z: Draws) -> float:
    within, pooled = _variances(z)
    if within > ROUNDING * pooled:
        return math.sqrt(pooled / within)
    return math.inf if pooled > ROUNDING else 1.0


def _variances(z: Draws) -> tuple[float, float]:
    """W, and V̂ = (n − 1)/n · W + B/n."""
    n = z.shape[1]
    within = float(z.var(axis=1, ddof=1).mean())
    return within, (n - 1) / n * within + float(z.mean(axis=1).var(ddof=1))


def _autocovariance(z: Draws) -> Draws:
    """Of each chain at lags 0 … n − 1, divided by n."""
    n = z.shape[1]
    padded = fft.rfft(z - z.mean(axis=1, keepdims=True), n=fft.next_fast_len(2 * n), axis=1)
    covariance: Draws = fft.irfft(np.abs(padded) ** 2, n=fft.next_fast_len(2 * n), axis=1)[:, :n] / n
    return covariance


def _summed(rho: Draws) -> float:
    """τ̂ by Geyer's initial monotone sequence of pairs."""
    rho = np.concatenate([[1.0], rho[1:]])
    pairs = [rho[k] + rho[k + 1] for k in range(0, len(rho) - 2, 2)]
    last = next((place for place, pair in enumerate(pairs) if pair <= 0), len(pairs) - 1)
    kept = np.minimum.accumulate(pairs[:last]) if last else np.zeros(0)
    # Of the pair that ends the sequence the first half still counts, if it is positive (Stan's antithetic rule).
    return -1 + 2 * float(kept.sum()) + max(float(rho[2 * last]), 0.0)

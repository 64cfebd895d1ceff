"""Ising model on a 4×4 grid: neighbours like to agree, by a known coupling; exact.

p(s) ∝ exp(J Σ s_i s_j) over the 24 pairs of neighbours, spins s = ±1, no walls joined, J = 0.4, near the 0.44 of the
infinite grid's phase transition. Events are v = (s + 1)/2 in {0, 1}, in which a coupling of spins J is 4J, and every
unit gets the bias −2J for each of its neighbours. All 2¹⁶ states are enumerated, so draws are exact.
"""

from ebmbench.core.binary import states
from ebmbench.data.common.densities import Table

PAPER = "Ising, Beitrag zur Theorie des Ferromagnetismus, Zeitschrift für Physik 31, 1925"
YEAR = 1925
LINK = "https://doi.org/10.1007/BF02980577"
LICENCE = "CC0-1.0"
BINARY = True
SIDE, COUPLING = 4, 0.4


def density() -> Table:
    """The table of all 2¹⁶ states."""
    spins = 2 * states(SIDE**2).reshape(-1, SIDE, SIDE) - 1
    along = (spins[:, :, 1:] * spins[:, :, :-1]).sum((1, 2))
    down = (spins[:, 1:] * spins[:, :-1]).sum((1, 2))
    return Table(COUPLING * (along + down), [1, SIDE, SIDE])

"""Error of a learned normaliser, |c − log Z|, with log Z by quadrature."""

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value

PAPER = "Gutmann & Hyvärinen, Noise-contrastive estimation, AISTATS 2010"
YEAR = 2010
LINK = "https://proceedings.mlr.press/v9/gutmann10a.html"
DIRECTION = "lower"
NEEDS = ("energy", "learned")


def compute(e: Evaluation) -> Value:
    """Only for methods that learn `c` with log p(x) = −E(x) − c."""
    if "c" not in e.subject.learned:
        raise Unavailable("the method learns no normaliser")
    c, log_z = e.subject.learned["c"], e.grid.log_z
    return Value(abs(c - log_z), n=len(e.grid.points), protocol=f"c = {c:.6f}, log Z = {log_z:.6f}; {e.grid.protocol}")

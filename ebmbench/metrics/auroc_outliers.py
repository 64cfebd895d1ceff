"""How often the energy is higher on images of another dataset than on test images (AUROC): 1 is best, ½ is chance.

Which dataset that is, says `outliers` in the entry of this one (`params.yaml: datasets`); `prepare` reads its test
images. Densities of images often fail here: what is simpler than the data can be likelier, and then the value is below
½. `metrics/common/outliers.py` has the formula and the error.
"""

from torch import Tensor

from ebmbench.core.dataset import read_outliers
from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.common.outliers import EVENTS, detect

PAPER = "Nalisnick et al., Do Deep Generative Models Know What They Don't Know?, ICLR 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1810.09136"
DIRECTION = "higher"
NEEDS = ("images", "energy")


def compute(e: Evaluation) -> Value:
    """Against as many test images."""
    rows, what = (None, "no other data are prepared") if e.data is None else read_outliers(e.data)
    if rows is None:
        raise Unavailable(what)
    others = rows[:EVENTS]

    def beside(x: Tensor) -> tuple[Tensor, Tensor]:
        return x, others

    return detect(e, f"of {what}", beside)

"""How often the energy is higher on images with their colours exchanged than on others (AUROC): 1 is best, ½ is chance.

Half of the test images are left as they are; of the other half red becomes green, green blue and blue red. Shapes and
textures are those of data, so it is harder than noise. `metrics/common/outliers.py` has the formula and the error.
"""

from torch import Tensor

from ebmbench.metrics.common.evaluation import Evaluation, Unavailable, Value
from ebmbench.metrics.common.outliers import detect

PAPER = "Du & Mordatch, Implicit Generation and Modeling with Energy Based Models, NeurIPS 2019"
YEAR = 2019
LINK = "https://arxiv.org/abs/1903.08689"
DIRECTION = "higher"
NEEDS = ("images", "energy")


def compute(e: Evaluation) -> Value:
    """No image is in both halves, or the pairs would not be independent."""

    def beside(x: Tensor) -> tuple[Tensor, Tensor]:
        if x.shape[1] < 2:
            raise Unavailable("the images have no colours that could be exchanged")
        return x[::2], x[1::2].roll(1, dims=1)

    return detect(e, "with colours exchanged", beside)

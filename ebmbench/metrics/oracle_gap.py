"""Gap of the held-out log-likelihood to the truth's: mean log p(x) − log q(x) over the test set."""

from ebmbench.metrics.common.evaluation import Evaluation, Value
from ebmbench.metrics.log_likelihood import mean_value

PAPER = "Theis et al., A note on the evaluation of generative models, ICLR 2016"
YEAR = 2016
LINK = "https://arxiv.org/abs/1511.01844"
DIRECTION = "lower"
GAP = "kl"  # decides who is bold: the same without the noise of the test set
NEEDS = ("energy", "density")


def compute(e: Evaluation) -> Value:
    """An estimate of KL(p‖q) from the test set, paired event by event, so its error is far below the likelihood's."""
    return mean_value(e.truth.log_prob(e.test.double()) - e.test_log_q, e.test_protocol)

"""Accuracy and calibration error against counts by hand, and why an energy may have neither."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ebmbench.config.sections import Metrics
from ebmbench.core.energy import marginal
from ebmbench.metrics import accuracy, calibration_error
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable
from tests.conftest import gaussian_facts

FACTS = replace(gaussian_facts(1), classes=list("ab"))


class Table:
    """p(y = 1|x) is x itself."""

    def logits(self, x: Tensor) -> Tensor:
        return torch.cat([1 - x, x], dim=1).log()

    def __call__(self, x: Tensor) -> Tensor:
        return marginal(self.logits(x))


def evaluation(p: list[float], labels: list[int] | None) -> Evaluation:
    known = None if labels is None else torch.tensor(labels)
    test = torch.tensor(p, dtype=torch.float64)[:, None]
    return Evaluation(Subject(Table(), None), test, None, FACTS, Metrics(), labels=known)


def test_accuracy_is_the_share_that_is_right_with_the_error_of_a_share() -> None:
    found = accuracy.compute(evaluation([0.9, 0.8, 0.3, 0.4, 0.6], [1, 0, 0, 0, 1]))
    assert (found.value, found.n) == (0.8, 5)
    assert found.error == pytest.approx((0.8 * 0.2 / 5) ** 0.5)


def test_the_calibration_error_weighs_each_bins_gap_by_its_events() -> None:
    """Confidences 0.9 and 0.91 share a bin of width 1/15, (0.867, 0.933]; 0.95 and 0.6 have their own."""
    found = calibration_error.compute(evaluation([0.9, 0.91, 0.95, 0.4], [1, 0, 1, 1]))
    gaps = abs(0.5 - (0.9 + 0.91) / 2) * 2, abs(1 - 0.95), abs(0 - 0.6)
    assert found.value == pytest.approx(sum(gaps) / 4, abs=1e-12)


@pytest.mark.parametrize(("p", "labels", "expected"), [(1 - 1e-9, [1] * 4, 0.0), (1 - 1e-9, [0] * 4, 1.0)])
def test_certainty_is_calibrated_only_if_it_is_right(p: float, labels: list[int], expected: float) -> None:
    assert calibration_error.compute(evaluation([p] * 4, labels)).value == pytest.approx(expected, abs=1e-8)


def test_bins_are_as_wide_as_a_fifteenth_and_errors_in_one_bin_cancel() -> None:
    """Half of the events are right at a confidence of ½: perfect, though no single event is."""
    assert calibration_error.compute(evaluation([0.5 + 1e-9] * 4, [1, 1, 0, 0])).value == pytest.approx(0, abs=1e-8)
    apart = calibration_error.compute(evaluation([0.55, 0.65], [1, 0])).value  # (8/15, 9/15] and (9/15, 10/15]
    assert apart == pytest.approx((0.45 + 0.65) / 2)


@pytest.mark.parametrize("metric", [accuracy, calibration_error])
def test_without_logits_or_labels_there_is_a_reason(metric) -> None:
    whole = evaluation([0.9], [1])
    plain = replace(whole, subject=Subject(lambda x: x[:, 0], None))
    for missing, words in (
        (plain, "the energy has no logits: it was not trained on labels"),
        (replace(whole, labels=None), "the test data have no labels"),
        (replace(whole, subject=Subject(None, None)), "there is no energy to evaluate"),
    ):
        with pytest.raises(Unavailable, match=words):
            metric.compute(missing)

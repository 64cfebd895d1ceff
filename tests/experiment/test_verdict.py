"""The health of a run in one word: the worst that applies, with all reasons."""

import pytest
import torch

from ebmbench.config.sections import Health, Metrics
from ebmbench.experiment.judge import compute_metrics
from ebmbench.experiment.verdict import Verdict, verdict
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Value
from tests.conftest import gaussian_facts

MET = {("r_hat", ""): Value(1.02), ("ess", ""): Value(900.0)}
APART = {("r_hat", ""): Value(1.7), ("ess", ""): Value(90.0)}
STEADY = {("fid_ratio", "short"): Value(2.0), ("fid_ratio", "long"): Value(2.9)}
COLLAPSED = {("fid_ratio", "short"): Value(2.0), ("fid_ratio", "long"): Value(3.1)}
CROSSED = {("ais_gap", ""): Value(reason="the bracket is crossed", fault="miscalibrated")}


@pytest.mark.parametrize(
    ("values", "word", "reason"),
    [
        (MET, "ok", ""),
        ({}, "ok", ""),
        (STEADY | MET, "ok", ""),
        (APART, "unmixed", "R̂ of long runs is 1.7; long runs have 90 effective draws"),
        (MET | {("ess", ""): Value(399.0)}, "unmixed", "long runs have 399 effective draws"),
        ({("r_hat", ""): Value(reason="stuck", fault="unmixed")}, "unmixed", "stuck"),
        (COLLAPSED | MET, "short-run-only", "fid_ratio of long runs is 1.55 times that of short ones"),
        (CROSSED | MET, "miscalibrated", "the bracket is crossed"),
    ],
)
def test_a_run_is_what_is_wrong_with_it(values: dict[tuple[str, str], Value], word: str, reason: str) -> None:
    assert verdict(values, "fid_ratio", Health()) == Verdict(word, reason)


def test_the_worst_word_counts_and_every_reason_is_given() -> None:
    found = verdict(APART | COLLAPSED | CROSSED, "fid_ratio", Health())
    assert found.word == "miscalibrated"
    assert found.reason.split("; ")[:3] == [
        "the bracket is crossed",
        "fid_ratio of long runs is 1.55 times that of short ones",
        "R̂ of long runs is 1.7",
    ]


def test_limits_are_those_of_the_parameters() -> None:
    assert verdict(APART | COLLAPSED, "fid_ratio", Health(r_hat=2.0, ess=50, collapse=1.6)).word == "ok"


def test_an_energy_whose_mass_no_grid_holds_is_miscalibrated() -> None:
    flat = Subject(lambda x: torch.zeros(len(x), dtype=x.dtype), None)
    e = Evaluation(flat, torch.zeros(4, 2), None, gaussian_facts(2), Metrics(cells=32))
    found = verdict(compute_metrics({"": e}, ["log_likelihood"]), "log_likelihood", Health())
    assert found.word == "miscalibrated"
    assert found.reason.startswith("no grid holds the model's mass")

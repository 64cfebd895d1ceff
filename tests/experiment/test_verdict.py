"""The health of a run: density and sampler apart, the worse of the two as its word, with all reasons."""

import pytest
import torch

from ebmbench.config.sections import Health, Metrics
from ebmbench.experiment.judge import compute_metrics
from ebmbench.experiment.verdict import Control, Verdict, verdict
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Value
from tests.conftest import gaussian_facts

Values = dict[tuple[str, str], Value]
MET = {("r_hat", ""): Value(1.02), ("ess", ""): Value(900.0)}
APART = {("r_hat", ""): Value(1.7), ("ess", ""): Value(90.0)}
UNTRACED = {("r_hat", ""): Value(reason="no stationary chain was traced")}
STEADY = {("fid_ratio", "short"): Value(2.0), ("fid_ratio", "long"): Value(2.9)}
COLLAPSED = {("fid_ratio", "short"): Value(2.0), ("fid_ratio", "long"): Value(3.1)}
WEIGHED = {("kl", ""): Value(0.3)}
HOLLOW = {("kl", ""): Value(reason="no grid holds it", fault="miscalibrated")}
CROSSED = {("ais_gap", ""): Value(reason="the bracket is crossed"), ("ais_optimistic", ""): Value(7.0)}
GOOD, BAD = Control(1.01, 1200.0), Control(3.2, 80.0)
R_HAT, DRAWS = "R̂ of long runs is 1.7 (of the control 1.01)", "long runs have 90 effective draws (the control 1200)"
COLLAPSE = "fid_ratio of long runs is 1.55 times that of short ones"
NO_MASS, NO_CHAINS = (
    "density not judged: no metric looks for its mass",
    "sampler not judged: no metric looks at its chains",
)


def judge(values: Values, control: Control | None = GOOD, limits: Health | None = None) -> Verdict:
    return verdict(values, "fid_ratio", limits or Health(), None if control is None else lambda: control)


@pytest.mark.parametrize(
    ("values", "word", "reasons", "density", "sampler"),
    [
        (WEIGHED | MET, "ok", [], "ok", "ok"),
        (WEIGHED | STEADY | MET, "ok", [], "ok", "ok"),
        ({}, "not judged", [NO_MASS, NO_CHAINS], "not judged", "not judged"),
        (MET, "not judged", [NO_MASS], "not judged", "ok"),
        (
            WEIGHED | UNTRACED,
            "not judged",
            ["sampler not judged: no stationary chain was traced"],
            "ok",
            "not judged",
        ),
        (WEIGHED | APART, "unmixed", [R_HAT, DRAWS], "ok", "unmixed"),
        (WEIGHED | MET | {("ess", ""): Value(399.0)}, "unmixed", [DRAWS.replace("90", "399")], "ok", "unmixed"),
        (WEIGHED | {("r_hat", ""): Value(reason="stuck", fault="unmixed")}, "unmixed", ["stuck"], "ok", "unmixed"),
        (WEIGHED | COLLAPSED | MET, "short-run-only", [COLLAPSE], "ok", "short-run-only"),
        (WEIGHED | COLLAPSED, "short-run-only", [COLLAPSE], "ok", "short-run-only"),
        (HOLLOW | MET, "miscalibrated", ["no grid holds it"], "miscalibrated", "ok"),
        (HOLLOW | UNTRACED, "miscalibrated", ["no grid holds it", UNTRACED], "miscalibrated", "not judged"),
        # What crosses a bracket is where its chains started: it says nothing of the energy.
        (CROSSED | MET, "not judged", ["density not judged: the bracket is crossed"], "not judged", "ok"),
    ],
)
def test_a_run_is_what_is_wrong_with_either_side(
    values: Values, word: str, reasons: list[object], density: str, sampler: str
) -> None:
    told = ["sampler not judged: no stationary chain was traced" if one is UNTRACED else str(one) for one in reasons]
    assert judge(values) == Verdict(word, "; ".join(told), density, sampler)


def test_where_the_control_does_not_mix_either_the_model_is_not_blamed() -> None:
    found = judge(WEIGHED | APART, BAD)
    assert (found.word, found.density, found.sampler) == ("sampler limit", "ok", "sampler limit")
    assert found.reason.startswith("R̂ of long runs is 1.7 (of the control 3.2); ")
    assert judge(WEIGHED | APART, Control(1.01, 399.0)).sampler == "sampler limit"


def test_chains_that_have_met_need_no_control() -> None:
    def never() -> Control:
        raise AssertionError("asked for")

    assert verdict(WEIGHED | MET, "fid_ratio", Health(), never).word == "ok"


def test_the_worst_word_counts_and_every_reason_is_given() -> None:
    found = judge(APART | COLLAPSED | HOLLOW)
    assert (found.word, found.sampler) == ("miscalibrated", "short-run-only")
    assert found.reason.split("; ") == ["no grid holds it", COLLAPSE, R_HAT, DRAWS]


def test_limits_are_those_of_the_parameters() -> None:
    assert judge(WEIGHED | APART | COLLAPSED, limits=Health(r_hat=2.0, ess=50, collapse=1.6)).word == "ok"


def test_draws_of_a_baseline_are_exact() -> None:
    assert judge(WEIGHED | UNTRACED, control=None).word == "ok"
    assert judge(WEIGHED | UNTRACED).word == "not judged"


def test_an_energy_whose_mass_no_grid_holds_is_miscalibrated() -> None:
    flat = Subject(lambda x: torch.zeros(len(x), dtype=x.dtype), None)
    e = Evaluation(flat, torch.zeros(4, 2), None, gaussian_facts(2), Metrics(cells=32))
    found = verdict(compute_metrics({"": e}, ["log_likelihood"]), "log_likelihood", Health(), lambda: GOOD)
    assert found.density == "miscalibrated"
    assert found.reason.startswith("no grid holds the model's mass")

"""Objectives crossed with samplers: shares of known tables, failures, bold over all cells, and the figure."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ebmbench.config import registry
from ebmbench.report.figures import samplers as figure
from ebmbench.report.figures import sweep
from ebmbench.report.figures.theme import apply_theme
from ebmbench.report.results.suite import Results
from ebmbench.report.sections import reading, samplers
from ebmbench.report.statistics.factors import explain_variation, find_crossings
from tests.report.made import BY_OBJECTIVE, BY_SAMPLER, SAMPLERS, crossed_table

COLD = registry.Entry("cd", "Contrastive divergence", "", 0, remarks={"sampler.noise_std": "Cold chains."})
WIGGLE = (-0.1, 0.0, 0.1)


def variance(effects: dict[str, float], scale: float = 1.0) -> float:
    return float(np.var([scale * one for one in effects.values()]))


def tables_of(text: str) -> list[list[list[str]]]:
    parts = re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)
    return [[[cell.strip() for cell in line.split("|")[1:-1]] for line in one.strip().splitlines()] for one in parts]


def test_an_additive_table_gives_its_shares_exactly() -> None:
    (one,) = find_crossings(Results(crossed_table()))
    found, sampler, objective = explain_variation(one.values), variance(BY_SAMPLER), variance(BY_OBJECTIVE)
    assert found is not None
    assert found.sampler == pytest.approx(sampler / (sampler + objective), abs=1e-12)
    assert found.objective == pytest.approx(objective / (sampler + objective), abs=1e-12)
    assert (found.neither, found.seeds) == pytest.approx((0, 0), abs=1e-12)
    assert one.objectives == ["mle", "cd persistent=False", "cd persistent=True", "adance"]
    assert one.samplers == list(SAMPLERS)


def test_what_seeds_add_is_explained_by_neither() -> None:
    (one,) = find_crossings(Results(crossed_table(WIGGLE)))
    found, inside = explain_variation(one.values), float(np.var(WIGGLE))
    assert found is not None
    whole = variance(BY_SAMPLER) + variance(BY_OBJECTIVE) + inside
    assert (found.neither, found.seeds) == pytest.approx((inside / whole, inside / whole))


def test_what_only_a_pair_explains_is_no_difference_of_seeds() -> None:
    values = {("a", "x"): [1.0, 1.0], ("a", "y"): [-1.0, -1.0], ("b", "x"): [-1.0, -1.0], ("b", "y"): [1.0, 1.0]}
    found = explain_variation(values)
    assert found is not None
    assert (found.sampler, found.objective, found.neither, found.seeds) == pytest.approx((0, 0, 1, 0))
    assert found.largest == "neither"


def test_shares_sum_to_one_where_runs_are_missing_and_both_orders_count() -> None:
    values = {("a", "x"): [0.0, 0.5], ("a", "y"): [3.0], ("b", "x"): [1.0], ("b", "y"): [4.0, 3.5, 4.1]}
    found, turned = explain_variation(values), explain_variation({(b, a): one for (a, b), one in values.items()})
    assert found is not None
    assert turned is not None
    assert found.sampler + found.objective + found.neither == pytest.approx(1)
    assert (found.sampler, found.objective) == pytest.approx((turned.objective, turned.sampler))


def test_without_variation_or_a_second_sampler_there_are_no_shares() -> None:
    assert explain_variation({("a", "x"): [1.0], ("b", "x"): [2.0]}) is None
    assert explain_variation({("a", "x"): [1.0], ("b", "y"): [1.0]}) is None
    assert explain_variation({}) is None


def test_a_failed_run_is_counted_and_left_out() -> None:
    frame = crossed_table(WIGGLE, lost=1)
    (one,) = find_crossings(Results(frame))
    assert (one.failed, sum(map(len, one.values.values()))) == (1, 47)
    first, shares = tables_of(samplers.text(Results(frame)))
    assert shares[2][-2:] == ["47", "1"]
    assert first[2][1].endswith("(2/3)")
    assert "**" not in first[2][1]


def test_the_text_has_medians_shares_and_what_decides() -> None:
    chains, other = crossed_table(WIGGLE), crossed_table(WIGGLE, scale=0.02, dataset="unbalanced")
    text = samplers.text(Results(pd.concat([chains, other], ignore_index=True)))
    first, second, shares = tables_of(text)
    assert first[0] == ["KL ↓ `two_moons`", *SAMPLERS]
    assert [row[0] for row in second[2:]] == ["mle", "cd persistent=False", "cd persistent=True", "adance"]
    assert first[2][1] == "1.00\u00a0(0.905–1.11)"
    assert [row[:1] + row[5:] for row in shares[2:]] == [["`two_moons`", "48", "0"], ["`unbalanced`", "48", "0"]]
    whole = variance(BY_SAMPLER) + variance(BY_OBJECTIVE) + float(np.var(WIGGLE))
    assert shares[2][1] == f"{100 * variance(BY_SAMPLER) / whole:.0f}\u00a0%"
    decided = "**By the largest share the chains decide on `two_moons` and the objective decides on `unbalanced`.**"
    assert decided in text


def test_bold_is_by_one_test_over_all_cells() -> None:
    """The best column is bold in every row whose seeds hide the effect of the objective."""
    first, _ = tables_of(samplers.text(Results(crossed_table((-0.3, 0.0, 0.3)))))
    bold = {(row[0], name) for row in first[2:] for name, cell in zip(SAMPLERS, row[1:], strict=True) if "**" in cell}
    assert bold == {(row[0], "independence") for row in first[2:]}


def test_one_method_with_a_swept_sampler_needs_no_section(tmp_path: Path) -> None:
    frame = crossed_table()
    assert samplers.text(Results(frame[frame["method"] != "mle"]))
    alone = Results(frame[frame["method"].isin(["mle", "oracle"])])
    assert samplers.text(alone) == ""
    assert figure.draw(alone, tmp_path) == []


def test_values_that_are_not_all_positive_have_no_logarithm() -> None:
    frame = crossed_table(WIGGLE).assign(metric="log_likelihood", direction="higher")
    frame["value"] = -frame["value"]
    (one,) = find_crossings(Results(frame, {"benchmark": {"metrics": ["log_likelihood"]}}))
    assert one.quantity == "log-likelihood"
    assert one.values["mle", "mala"] == [-math.exp(wiggle) for wiggle in WIGGLE]


def test_the_figure_says_which_runs_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(figure, "save", lambda drawn, file: written.extend(_words(drawn)))
    with apply_theme():
        (image,) = figure.draw(Results(crossed_table(WIGGLE, lost=1)), tmp_path)
    assert "0.95\n2/3" not in written
    assert "1.1\n2/3" in written  # the median of what is left, e⁰ and e^0.1
    assert f"{math.exp(-1.2):.2g}" in written
    assert image.path == f"figures/{figure.FILE}"


def test_long_names_of_settings_that_are_swept_together_leave_room_for_the_panels(tmp_path: Path) -> None:
    """A panel without room is a warning, and warnings are errors."""
    with apply_theme():
        found = sweep.draw(Results(crossed_table(WIGGLE)), tmp_path)
    assert {image.title for image in found} == {"mle: sampler", "cd: persistent, sampler", "adance: sampler"}


def _words(drawn: object) -> list[str]:
    return [text.get_text() for axis in drawn.axes for text in axis.texts]  # type: ignore[attr-defined]


def test_a_remark_is_printed_only_where_its_setting_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entries", lambda kind: {"cd": COLD} if kind == "methods" else {})
    frame = pd.concat([crossed_table(), crossed_table(dataset="digits")], ignore_index=True)
    frame = frame[frame["method"].isin(["cd", "oracle"])]
    noisy = {"overrides": {"methods": {"cd": {"sampler": {"kind": "langevin", "noise_std": 0.01}}}}}
    params = {"methods": {"cd": {"sampler": [{"kind": "mala"}]}}, "datasets": {"digits": noisy}}
    assert "On `digits`: Cold chains." in reading.text(Results(frame, params))
    assert "Cold" not in reading.text(Results(frame, params | {"datasets": {}}))

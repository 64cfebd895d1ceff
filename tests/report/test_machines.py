"""Figures of binary images: whose arrays there are, in panels of their names; none of other data."""

from pathlib import Path

import numpy as np
from PIL import Image

from ebmbench.report.figures import machines
from ebmbench.report.results.suite import Results
from tests.report.machine_suite import write_cell


def test_there_is_a_figure_of_samples_and_one_of_fields(tmp_path: Path) -> None:
    found = machines.draw(write_cell(tmp_path), tmp_path / "figures")
    assert [image.path for image in found] == [f"figures/{part}-binary_digits.png" for part in ("units", "fields")]
    assert "real, mle rbm tempering, mle dbm tempering" in found[0].alt
    assert found[1].alt.endswith("binary_digits: mle rbm tempering")
    page = np.asarray(Image.open(tmp_path / found[0].path).convert("L"))
    assert (page == 140).sum() >= 2 * 20 * 32 * 32  # the median run of two is the lower one, seed 1


def test_a_deep_machine_below_its_first_layer_is_explained(tmp_path: Path) -> None:
    results = write_cell(tmp_path)
    assert machines.explain_deep(results, "binary_digits") == ""
    deep = results.frame["settings"].str.contains("dbm")
    frame = results.frame.assign(value=results.frame["value"] - 2.0 * deep)
    found = machines.explain_deep(Results(frame, results.params, tmp_path, results.facts), "binary_digits")
    assert found.startswith(" Below `rbm`: `dbm` by 2 nats, after 250 steps instead of 1\u202f000.")


def test_data_that_are_not_binary_have_none(tmp_path: Path) -> None:
    results = write_cell(tmp_path)
    assert machines.draw(Results(results.frame, results.params, tmp_path, {}), tmp_path) == []

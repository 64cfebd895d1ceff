"""`--only`: which part of the graph is chosen, without DVC."""

from pathlib import Path

import pytest

from ebmbench.errors import UserError
from pipelines.planning.selection import select_stages, suite_cells

DATASETS, METHODS = ["two_moons", "rings-2d"], ["dsm", "nce", "nce-2d"]
PARAMS = f"benchmark: {{suite: tiny, datasets: {DATASETS}, methods: {METHODS}}}\n"


def graph() -> dict[str, list[str]]:
    """As `dvc dag` gives it: the report follows all that writes to `runs/`."""
    found: dict[str, list[str]] = {"report": []}
    for dataset in DATASETS:
        found |= {f"prepare@{dataset}": [], f"baselines@{dataset}": [f"prepare@{dataset}"]}
        for method in METHODS:
            found[f"train@{dataset}-{method}"] = [f"prepare@{dataset}"]
            found[f"evaluate@{dataset}-{method}"] = [f"train@{dataset}-{method}"]
    return found | {"report": [name for name in found if name.startswith(("baselines", "train", "evaluate"))]}


def cell(dataset: str, method: str) -> set[str]:
    return {f"train@{dataset}-{method}", f"evaluate@{dataset}-{method}"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_text(PARAMS)
    return tmp_path


def chosen(root: Path, *only: str) -> set[str]:
    return set(select_stages(root, graph(), only))


def data(dataset: str) -> set[str]:
    return {f"prepare@{dataset}", f"baselines@{dataset}"}


def test_one_cell_brings_what_it_needs_its_baselines_and_the_report_and_no_other_cell(root: Path) -> None:
    assert chosen(root, "dsm/two_moons") == {"report", *data("two_moons"), *cell("two_moons", "dsm")}


def test_the_report_waits_for_the_chosen_cells_alone(root: Path) -> None:
    part = select_stages(root, graph(), ["dsm/two_moons"])
    assert set(part["report"]) == {"baselines@two_moons", *cell("two_moons", "dsm")}


def test_dashes_in_names_do_not_mix_cells_up(root: Path) -> None:
    assert chosen(root, "nce/rings-2d") == {"report", *data("rings-2d"), *cell("rings-2d", "nce")}


def test_a_method_means_its_cells_on_every_dataset_with_their_baselines(root: Path) -> None:
    cells = cell("two_moons", "dsm") | cell("rings-2d", "dsm")
    assert chosen(root, "dsm") == {"report", *data("two_moons"), *data("rings-2d"), *cells}


@pytest.mark.parametrize("pattern", ["/two_moons", "*/two_moons"])
def test_a_dataset_means_all_its_cells_and_its_baselines(root: Path, pattern: str) -> None:
    assert chosen(root, pattern) == {name for name in graph() if "two_moons" in name} | {"report"}


def test_a_wildcard_and_several_choices_add_up(root: Path) -> None:
    cells = cell("two_moons", "nce") | cell("two_moons", "nce-2d") | cell("two_moons", "dsm")
    assert chosen(root, "nc*/two_moons", "dsm/two_moons") == {"report", *data("two_moons"), *cells}


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("dsn/two_moons", r"--only dsn/two_moons: methods: found 'dsn', .*did you mean 'dsm'"),
        ("dsm/to_moons", r"datasets: found 'to_moons', .*did you mean 'two_moons'"),
        ("two_moons", r"'two_moons' is a dataset \(did you mean '/two_moons'\?\)"),
        ("two_moons/dsm", r"did you mean 'dsm/two_moons'"),
        ("dsm/two_moons/0", r"datasets: found 'two_moons/0'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(root: Path, pattern: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        select_stages(root, graph(), ["nce", pattern])


def test_cells_are_found_by_what_dvc_writes_after_the_at(root: Path) -> None:
    assert suite_cells(root)["rings-2d-nce-2d"] == "rings-2d/nce-2d"
    assert len(suite_cells(root)) == len(DATASETS) * len(METHODS)

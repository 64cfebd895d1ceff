"""`ebmbench compare dsm nce`: two methods of the latest report, seed by seed."""

import shutil
from pathlib import Path

import pytest

from ebmbench.report.results.table import to_frame, write_results
from tests.report.compare.conftest import git, print_comparison
from tests.report.compare.test_errors import Fault, fault

__all__ = ["fault"]
VALUES = {
    ("dsm", "", "two_moons"): [0.2, 0.4, 0.8],
    ("nce", "", "two_moons"): [0.1, 0.2, 0.39],
    ("cd", "", "two_moons"): [0.1, 0.4, 0.9],
    ("adance", "interval=1", "two_moons"): [0.3, 0.3, 0.3],
    ("adance", "interval=5", "two_moons"): [0.3, 0.3],
    ("ssm", "", "other"): [1.0, 1.0, 1.0],
}


@pytest.fixture
def project(repository: Path, tmp_path: Path) -> Path:
    """The repository with a report of several methods; adance lost a run."""
    root = Path(shutil.copytree(repository, tmp_path / "own"))
    rows = []
    for (method, settings, dataset), values in VALUES.items():
        place = {"suite": "small", "dataset": dataset, "method": method, "settings": settings, "metric": "kl"}
        for seed in range(3):
            lost = {"status": "diverged"} if seed >= len(values) else {"status": "ok", "value": repr(values[seed])}
            rows.append(place | {"seed": str(seed), "label": f"{settings}/seed={seed}", "direction": "lower"} | lost)
    write_results(to_frame(rows), root / "reports/small/latest/results.csv")
    return root


def test_differences_are_paired_by_seed_and_who_is_better_is_said_with_the_interval(project: Path) -> None:
    text = print_comparison(project, "dsm", "nce")
    assert text.startswith(
        "# ebmbench: `dsm` and `nce`, suite `small`\n\n**Of 1 comparison, dsm is better in 0 and nce "
    )
    (row,) = [line for line in text.splitlines() if line.startswith("| `two_moons` | KL ↓ |")]
    assert row.endswith("| ×2.02 (×1.95 to ×2.09) | ×2, ×2, ×2.05 | dsm 0 of 3 | nce |")
    assert "pairing gains little" in text


def test_methods_that_these_seeds_cannot_tell_apart_are_said_to_be_so(project: Path) -> None:
    text = print_comparison(project, "cd", "dsm")
    assert "cd is better in 0 and dsm in 0**; of the others these seeds cannot tell" in text
    assert "| cd 1 of 3 | not told apart |" in text


def test_lost_runs_are_counted_and_a_method_without_a_partner_is_not_compared(project: Path) -> None:
    text = print_comparison(project, "adance interval=5", "nce")
    assert "| 0.300\u00a0(2/3) |" in text
    assert "which flatters who lost them" in text
    assert "| – | – | – | not compared |" in print_comparison(project, "ssm", "nce")


def test_a_word_means_the_method_unless_only_the_other_reading_makes_sense(project: Path) -> None:
    git(project, "branch", "dsm", "v1")
    text = print_comparison(project, "dsm", "nce")
    assert "`dsm` is also a revision or a report; `refs/heads/dsm` or `./dsm` is that." in text
    assert print_comparison(project, "dsm").startswith("# ebmbench: suite `small`, from `dsm` (")
    assert print_comparison(project, "dsm", "HEAD").startswith("# ebmbench: suite `small`, from `dsm` (")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["adance", "nce"], "'adance' has several settings, allowed: 'adance interval=1', 'adance interval=5'"),
        (["dsm"], "found the method 'dsm' and nothing more, allowed: two methods or two reports"),
        (["dsm", "HEAD"], "found the method 'dsm' and 'HEAD', which is none, allowed"),
        (["v1", "nce"], "found the method 'nce' and 'v1', which is none"),
        (["dsm", "nca"], "'nca', which is none (did you mean 'nce'?)"),
        (["dsm", "mle"], "found no 'mle' in reports/small/latest, allowed: adance interval=1, "),
        (["dsm", "dsm"], "found 'dsm' twice"),
    ],
)
def test_an_ambiguity_or_a_mistake_is_one_clear_line(
    project: Path, fault: Fault, words: list[str], message: str
) -> None:
    assert message in fault(project, *words)

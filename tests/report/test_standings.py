"""Where methods stand: the lines at the end of a run."""

import pytest

from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import to_frame
from ebmbench.report.statistics.standings import describe_standing, find_standings, ordinal

Values = dict[str, list[float | None]]


def lines(
    values: Values, metric: str = "kl", main: str = "kl", direction: str = "lower", samples: str = ""
) -> list[str]:
    """The lines of a table with one dataset; a run without a value has diverged."""
    rows = [
        {"dataset": "rings", "method": name.split(" ")[0], "settings": name.partition(" ")[2], "seed": str(seed)}
        | {"label": f"{name}/seed={seed}", "metric": metric, "direction": direction, "samples": samples}
        | ({"status": "diverged"} if value is None else {"status": "ok", "value": repr(value)})
        for name, ones in values.items()
        for seed, value in enumerate(ones)
    ]
    results = Results(to_frame(rows), {"benchmark": {"metrics": [main]}})
    return [describe_standing(one) for one in find_standings(results, "rings")]


def test_a_line_has_the_median_the_rank_and_the_best_of_the_others() -> None:
    found = lines({"oracle": [0.0], "dsm": [0.0048, 0.0048, 9.0], "nce": [0.0033], "cd t=1": [1.0]})
    assert found == [
        "dsm/rings KL 0.00480, 2nd of 3; nce 0.00330",
        "nce/rings KL 0.00330, 1st of 3; next dsm 0.00480",
        "cd t=1/rings KL 1.00, 3rd of 3; nce 0.00330",
    ]


def test_lost_runs_count_as_the_worst_and_there_is_no_win_without_a_contest() -> None:
    assert lines({"dsm": [0.1, None, None], "nce": [0.5, 0.5, 0.5], "cd": [None, None, None]}) == [
        "dsm/rings KL 0.100 (1/3 runs), 2nd of 3; nce 0.500",
        "nce/rings KL 0.500, 1st of 3",
        "cd/rings KL without a value, all runs lost, 2nd of 3; nce 0.500",
    ]
    assert lines({"oracle": [0.0], "dsm": [0.1]}) == ["dsm/rings KL 0.100, the only method"]
    assert lines({"dsm": [None]}) == []


def test_values_beyond_the_oracles_are_no_better_than_it() -> None:
    assert [line.partition(", ")[2] for line in lines({"oracle": [0.1], "dsm": [0.05], "nce": [0.1]})] == [
        "1st of 2; next nce 0.100",
        "1st of 2; next dsm 0.0500",
    ]


def test_without_the_main_metric_the_best_that_exists_is_taken_in_its_own_direction() -> None:
    found = lines({"dsm": [-3.0], "nce": [-2.0]}, metric="log_likelihood", direction="higher")
    assert found[0] == "dsm/rings log-likelihood −3.00, 2nd of 2; nce −2.00"


def test_images_are_ranked_by_their_fid_ratio_and_the_kind_of_samples_is_named() -> None:
    found = lines({"dsm": [2.0], "nce": [1.0]}, metric="fid_ratio", samples="long")
    assert found[0] == "dsm/rings FID ratio (long) 2.00, 2nd of 2; nce 1.00"


@pytest.mark.parametrize(
    ("number", "word"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (12, "12th"), (22, "22nd")]
)
def test_ordinal_numbers(number: int, word: str) -> None:
    assert ordinal(number) == word

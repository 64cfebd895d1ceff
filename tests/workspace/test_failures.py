"""Notes on failed stages: left where the report reads them, and gone once the stage has run."""

from pathlib import Path

import pytest

from ebmbench.workspace.failures import UNKNOWN, failure_of, forget_failure, note_failure, noting_failure


def test_a_failure_leaves_its_reason_and_a_killed_stage_that_it_ended_without_a_word(tmp_path: Path) -> None:
    seen = []

    def fail() -> None:
        seen.append(failure_of(tmp_path, "s", "train@a-dsm"))
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"), noting_failure(tmp_path, "s", "train@a-dsm"):
        fail()
    assert seen == [UNKNOWN]
    assert failure_of(tmp_path, "s", "train@a-dsm") == "ValueError: bad"
    with noting_failure(tmp_path, "s", "train@a-dsm"):
        pass
    assert failure_of(tmp_path, "s", "train@a-dsm") == ""


def test_what_suites_share_is_forgotten_in_all_of_them_and_a_cell_in_its_own(tmp_path: Path) -> None:
    for suite in ("s", "t"):
        note_failure(tmp_path, suite, "prepare@a", "x")
        note_failure(tmp_path, suite, "train@a-dsm", "x")
    forget_failure(tmp_path, "s", "prepare@a")
    forget_failure(tmp_path, "s", "train@a-dsm")
    assert [failure_of(tmp_path, suite, "prepare@a") for suite in ("s", "t")] == ["", ""]
    assert [failure_of(tmp_path, suite, "train@a-dsm") for suite in ("s", "t")] == ["", "x"]

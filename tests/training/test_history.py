"""Histories of runs that log different columns join into one readable file."""

from pathlib import Path

import pandas as pd

from ebmbench.stages.train import join_histories
from ebmbench.training.run import train
from tests.training.test_resume import DATA, job


def test_the_union_of_columns_is_kept_and_nothing_shifts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("label,step,loss\nseed=0,1,0.5\n")
    (tmp_path / "b.csv").write_text("label,step,loss,c\nseed=1,1,0.25,7.0\nseed=1,2,0.125,8.0\n")
    (tmp_path / "empty.csv").write_text("label,step,loss\n")
    join_histories(tmp_path / "all.csv", [tmp_path / f"{name}.csv" for name in ("a", "empty", "b")])
    frame = pd.read_csv(tmp_path / "all.csv")
    assert list(frame.columns) == ["label", "step", "loss", "c"]
    assert frame["label"].tolist() == ["seed=0", "seed=1", "seed=1"]
    assert frame["loss"].tolist() == [0.5, 0.25, 0.125]
    assert frame["c"].isna().tolist() == [True, False, False]


def test_a_number_that_is_not_known_at_the_first_row_leaves_a_gap(tmp_path: Path) -> None:
    train(job("icd", budget=10_000), DATA, tmp_path / "work", tmp_path)  # a row after each step
    entropy = pd.read_csv(tmp_path / "history.csv")["chain_entropy"]  # of past ends: the first step has none
    assert entropy.isna().tolist() == [True] + [False] * (len(entropy) - 1)

"""Results as CSV, JSON and Parquet: each reads back as the same frame, and what does not work is said in one line."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ebmbench.cli.main import main
from ebmbench.errors import UserError
from ebmbench.report.results.table import COLUMNS, load_results, to_frame, write_results

ROOT = Path(__file__).parents[2]


def needs(suffix: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: `pip install 'ebmbench[parquet]'`")


@pytest.fixture
def odd() -> pd.DataFrame:
    """Values that formats like to spoil."""
    place = {"suite": "s", "dataset": "d", "method": "mle", "status": "ok", "metric": "kl"}
    values = ["0.1", "5e-324", "1.7976931348623157e+308", "inf", "-inf", "", "0.30000000000000004", "-0.0"]
    rows = [place | {"seed": str(seed), "value": value, "digest": f"00{seed}e5"} for seed, value in enumerate(values)]
    failed = {"suite": "s", "dataset": "d", "method": "nce", "status": "failed", "reason": 'a "b", c\nµ | NaN'}
    return to_frame([*rows, failed])


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_what_is_written_reads_back_as_the_same_frame(
    report: Path, odd: pd.DataFrame, tmp_path: Path, suffix: str
) -> None:
    needs(suffix)
    for number, frame in enumerate((load_results(report), odd, odd.iloc[:0])):
        file = tmp_path / f"{number}{suffix}"
        write_results(frame, file)
        back = load_results(file)
        pd.testing.assert_frame_equal(back, frame, check_exact=True)
        assert (back.dtypes == frame.dtypes).all()
        assert [one.name for one in tmp_path.glob(".*")] == []  # no half-written file is left


def test_parquet_has_the_types_for_whoever_reads_it_without_us(odd: pd.DataFrame, tmp_path: Path) -> None:
    needs(".parquet")
    from pyarrow import parquet

    write_results(odd, tmp_path / "r.parquet")
    types = {
        field.name: str(field.type).removeprefix("large_") for field in parquet.read_schema(tmp_path / "r.parquet")
    }
    assert list(types) == list(COLUMNS)
    assert (types["suite"], types["seed"], types["value"]) == ("string", "int64", "double")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "r.parquet"), odd, check_exact=True)


def test_json_is_strict_and_has_one_row_per_line(odd: pd.DataFrame, tmp_path: Path) -> None:
    write_results(odd, tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text(encoding="utf-8")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    rows = json.loads(text, parse_constant=refuse)
    assert len(text.splitlines()) == len(odd) + 2
    assert [row["value"] for row in rows[3:6]] == ["inf", "-inf", None]
    assert rows[-1]["reason"] == odd["reason"].iloc[-1]


def test_a_report_of_an_older_version_gets_the_columns_it_lacks(report: Path, tmp_path: Path) -> None:
    later = ["samples", "verdict", "restarts", "sampler_verdict"]
    pd.read_csv(report / "results.csv", dtype=str).drop(columns=later).to_csv(tmp_path / "results.csv", index=False)
    frame = load_results(tmp_path)
    assert list(frame.columns) == list(COLUMNS)
    assert set(frame["samples"]) == {""}
    assert frame["restarts"].isna().all()


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_the_command_exports_a_report(
    report: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    needs(suffix)
    file = tmp_path / "new" / f"results{suffix}"
    assert main(["report", "export", str(file), "--from", str(report)]) == 0
    frame = load_results(report)
    assert capsys.readouterr().out == f"{file}: {len(frame)} rows\n"
    pd.testing.assert_frame_equal(load_results(file), frame, check_exact=True)
    if suffix == ".csv":
        assert file.read_bytes() == (report / "results.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export"], "report export: found no file, allowed: a name that ends in .csv, .json or .parquet"),
        (
            ["export", "a.xlsx", "--from", "R"],
            "a.xlsx: found '.xlsx', allowed: a name that ends in .csv, .json, .parquet",
        ),
        (["export", "a.csv", "--from", "nowhere"], "nowhere: not found"),
        (["export", "/proc/none/a.csv", "--from", "R"], "/proc/none/a.csv: cannot be written"),
        (["release", "1.0", "--from", "R"], "report release: found --from, allowed: only with export"),
        (["build", "1.0"], "report build: found '1.0', allowed: nothing more"),
    ],
)
def test_a_wrong_request_is_one_line(
    report: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *(str(report) if word == "R" else word for word in words)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("content", [b"{}", b"[1]", b"nonsense", b"\xff"])
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path, suffix: str, content: bytes) -> None:
    needs(suffix)
    file = tmp_path / f"r{suffix}"
    file.write_bytes(content)
    with pytest.raises(UserError, match=f"r{suffix}: "):
        load_results(file)


def test_without_pyarrow_parquet_says_what_to_install_and_the_rest_works(
    odd: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    for call in (lambda: write_results(odd, tmp_path / "r.parquet"), lambda: load_results(tmp_path / "r.parquet")):
        with pytest.raises(
            UserError, match=r"found no pyarrow, which .parquet needs: `pip install 'ebmbench\[parquet\]'`"
        ):
            call()
    write_results(odd, tmp_path / "r.json")
    assert (tmp_path / "r.parquet").read_bytes() == b"PAR1"


def test_results_are_the_same_bytes_with_and_without_pyarrow(report: Path, tmp_path: Path) -> None:
    """pandas keeps text in another way where pyarrow is installed."""
    needs(".parquet")
    code = (
        "import sys; sys.modules.update({'pyarrow': None} if sys.argv[1] == 'without' else {}); "
        "from pathlib import Path; from ebmbench.report.results.table import load_results, write_results; "
        "frame = load_results(sys.argv[2]); write_results(frame, Path(sys.argv[3])); "
        "print(frame['suite'].dtype.storage)"
    )
    stored = {}
    for word in ("with", "without"):
        command = [sys.executable, "-c", code, word, str(report), str(tmp_path / f"{word}.csv")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        stored[word] = done.stdout.strip()
    assert stored == {"with": "pyarrow", "without": "python"}
    assert (tmp_path / "with.csv").read_bytes() == (tmp_path / "without.csv").read_bytes()

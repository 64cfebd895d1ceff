"""The speed page: one whole run writes it, a part of it never does, and it fits the width of GitHub."""

from pathlib import Path

import pytest

from benchmarks.runs.overhead import Overhead, describe_overhead
from benchmarks.runs.release import EDIT, NOTHING, PLAN, describe_edits
from benchmarks.settings import QUICK, Settings
from benchmarks.speed import __main__ as command
from benchmarks.speed import page
from benchmarks.speed.side_by_side import list_rows, render_times
from benchmarks.speed.time_to_kl import METHODS, RaceResult, render_races
from benchmarks.tables import Section

WIDEST = 100
NAMES = ["ebmbench", "bare", "torchebm", "ebmkit"]


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The parts of each run; nothing is measured, and the page is a file of the test's."""
    asked: list[list[str]] = []

    def measure_parts(names: list[str], settings: Settings) -> list[Section]:
        asked.append(names)
        return [
            Section(name, f"table of {name}", f"{name} in a sentence." if name == "steps" else "") for name in names
        ]

    monkeypatch.setattr(command, "measure_parts", measure_parts)
    monkeypatch.setattr(command, "PAGE", tmp_path / "speed" / "page.md")
    return asked


def test_a_whole_run_writes_all_parts_below_their_sentences(parts: list[list[str]]) -> None:
    assert command.main([]) == 0
    assert parts == [list(page.PARTS)]
    text = command.PAGE.read_text(encoding="utf-8")
    assert text.startswith("# Speed\n\n- steps in a sentence.\n\nWritten by `make speed` on 20")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [f"## {name}" for name in page.PARTS]


@pytest.mark.parametrize("arguments", [["kl"], ["--rows", "dsm"], ["--quick"]])
def test_a_part_is_printed_and_leaves_the_page_as_it_is(
    arguments: list[str], parts: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 0
    assert "table of kl" in capsys.readouterr().out
    assert not command.PAGE.exists()
    with pytest.raises(SystemExit):
        command.main([*arguments, "--output", str(command.PAGE)])


def test_an_unknown_part_is_refused(parts: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["speeed"])
    assert "no part speeed; there are steps, suite" in capsys.readouterr().err


def test_the_version_is_that_of_the_project() -> None:
    project = (page.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = project.partition('\nversion = "')[2].partition('"')[0]
    assert f"ebmbench {version}, torch " in page.describe_machine(QUICK)


def test_no_table_is_wider_than_the_page_of_github() -> None:
    times = {name: [0.1234, 0.1331, 0.1444] for name in NAMES}
    groups = {row.group for row in list_rows()}
    tables = [
        render_times(group, {row.name: times for row in list_rows() if row.group == group}, NAMES) for group in groups
    ]
    long = {name: RaceResult(12.5, 10_000, 0.0123) for name in NAMES[:1] + NAMES[2:]}
    tables.append(render_races({(method, seed): long for method in METHODS for seed in (0, 1)}, list(long)))
    seconds = {"0.7.0": [123.4, 234.5], "0.8.0": [123.4, 234.5]}
    tables.append(describe_edits(dict.fromkeys((NOTHING, PLAN, EDIT), seconds), 3).text)
    tables.append(describe_overhead({name: [Overhead(300, 12.3, 12.3)] for name in seconds}).text)
    lines = [line for table in tables for line in table.splitlines() if line.startswith("|")]
    shown = [line.replace("**", "").replace("| ", "").replace(" |", "  ") for line in lines if "---" not in line]
    assert max(map(len, shown)) <= WIDEST


def test_rows_are_timed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["steps", "--rows", "training*: nce", "--rounds", "1"]) == 0
    shown = capsys.readouterr()
    assert "| nce |" in shown.out
    assert "Langevin" not in shown.out
    assert "part 1 of 1" in shown.err

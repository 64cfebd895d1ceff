"""What a user may get wrong: one line that names it, exit code 2, and no traceback."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ebmbench.cli.main import main
from ebmbench.report.results.table import COLUMNS
from tests.report.compare.conftest import git

Fault = Callable[..., str]
HEADER = ",".join(COLUMNS)


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fault:
    """The one line that the command says."""

    def run(root: Path, *words: str) -> str:
        monkeypatch.chdir(root)
        assert main(["compare", *words]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("error: ")
        assert captured.err.count("\n") == 1
        return captured.err.removeprefix("error: ").strip()

    return run


@pytest.fixture
def own(repository: Path, tmp_path: Path) -> Path:
    """The repository, to spoil."""
    return Path(shutil.copytree(repository, tmp_path / "own"))


NEITHER = "found neither a folder with results.csv nor a Git revision of that name"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["v9"], f"'v9': {NEITHER}"),
        ([""], f"'': {NEITHER}"),
        (["--", "-x"], f"'-x': {NEITHER}"),
        (["HEAD:params.yaml"], f"'HEAD:params.yaml': {NEITHER}"),
        (["reports/small"], f"'reports/small': {NEITHER}; reports in it: 1.0, latest"),
        (["v1", "--suite", "smal"], "workspace: found no reports/smal/latest/results.csv, allowed: small"),
        (["v1", "HEAD", "--suite", "smal"], "HEAD: found no reports/smal/latest/results.csv, allowed: small"),
        (
            ["reports/small/1.0", "reports/small/1.0", "--suite", "other"],
            "found suite 'small', allowed: 'other', by --suite",
        ),
        (["params.yaml"], "params.yaml: found no column suite"),
        (["v1", "--output", "reports"], "reports: cannot be written: Is a directory"),
    ],
)
def test_what_is_not_there_is_named(repository: Path, fault: Fault, words: list[str], message: str) -> None:
    assert message in fault(repository, *words)


def test_reports_of_two_suites_are_not_compared(own: Path, fault: Fault) -> None:
    rows = (own / "reports/small/latest/results.csv").read_text(encoding="utf-8")
    (own / "reports/large/latest").mkdir(parents=True)
    (own / "reports/large/latest/results.csv").write_text(rows.replace("small", "large"), encoding="utf-8")
    answer = fault(own, "reports/small/1.0", "reports/large/latest")
    assert answer == "reports/large/latest: found suite 'large', allowed: 'small', as reports/small/1.0 has"


def test_a_revision_from_before_the_first_report_says_so(own: Path, fault: Fault) -> None:
    git(own, "rm", "--quiet", "-r", "reports")
    git(own, "commit", "--quiet", "--message", "no reports")
    git(own, "tag", "bare")
    answer = fault(own, "bare", "v1")
    assert answer == "bare: found no reports/small/latest/results.csv, and none of any other suite"


def test_a_revision_from_before_dvc_says_so(own: Path, fault: Fault) -> None:
    git(own, "rm", "--quiet", "-r", ".")
    (own / "params.yaml").write_text("benchmark: {suite: small}\n", encoding="utf-8")
    git(own, "add", "params.yaml")
    git(own, "commit", "--quiet", "--message", "nothing yet")
    git(own, "tag", "nothing")
    git(own, "checkout", "--quiet", "v1")
    assert fault(own, "nothing").startswith("nothing: ")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("benchmark: {suite: [\n", "odd: params.yaml: not readable: "),
        ("other: 1\n", "odd: params.yaml: benchmark.suite: found nothing, allowed: the name of a suite"),
        ("benchmark: small\n", "odd: params.yaml: benchmark.suite: found nothing"),
    ],
)
def test_parameters_of_a_revision_that_are_broken_are_named(own: Path, fault: Fault, params: str, message: str) -> None:
    kept = (own / "params.yaml").read_text(encoding="utf-8")
    (own / "params.yaml").write_text(params, encoding="utf-8")
    git(own, "commit", "--quiet", "--all", "--message", "broken")
    git(own, "tag", "odd")
    (own / "params.yaml").write_text(kept, encoding="utf-8")
    assert fault(own, "v1", "odd").startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a report without any row"),
        (HEADER.encode() + b"\n", "a report without any row"),
        (b"a,b\n1,2\n", "found no column suite, dataset, method, status, metric, value"),
        (b"suite,dataset,method,status,metric,value\ns,d,m,ok,kl,much\n", "value: found 'much', allowed: a number"),
        (b"suite,dataset,method,status,metric,value,seed\ns,d,m,ok,kl,1,inf\n", "results.csv: cannot convert"),
        (b"\xff\xfe\x00", "results.csv: "),
    ],
)
def test_results_that_are_broken_are_named(own: Path, fault: Fault, content: bytes, message: str) -> None:
    (own / "reports/small/1.0/results.csv").write_bytes(content)
    answer = fault(own, "reports/small/1.0")
    assert "reports/small/1.0" in answer
    assert message in answer


def test_a_shallow_clone_says_how_to_get_the_rest(repository: Path, tmp_path: Path, fault: Fault) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", repository.as_uri(), "shallow")
    assert "this clone is shallow, `git fetch --unshallow`" in fault(tmp_path / "shallow", "HEAD~1")


def test_outside_a_repository_folders_can_be_compared_and_revisions_cannot(
    own: Path, fault: Fault, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(own / ".git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(own.parent))
    assert fault(own, "HEAD").endswith("; this folder is in no Git repository")
    monkeypatch.setenv("PATH", "")  # not even a Git
    assert main(["compare", "reports/small/1.0"]) == 0
    assert "**1 number got worse" in capsys.readouterr().out


def test_a_folder_tells_the_suite_of_the_other_side(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`params.yaml` names another suite than the released report that is asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(own)
        (own / "params.yaml").write_text("benchmark: {suite: large}\n", encoding="utf-8")
        for sides in (["reports/small/1.0"], ["v1", "reports/small/latest"], ["reports/small/1.0/results.csv", "HEAD"]):
            assert main(["compare", *sides]) == 0
            text = capsys.readouterr().out
            assert text.startswith("# ebmbench: suite `small`, from ")
            assert "| `training.budget` | `100` | `50` |" in text


def test_what_a_report_holds_cannot_move_the_cursor(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = own / "reports" / "small" / "latest" / "results.csv"
    results.write_text(
        results.read_text(encoding="utf-8").replace("two_moons", "two\x1b[2J\u202emoons"), encoding="utf-8"
    )
    monkeypatch.chdir(own)
    assert main(["compare", "v1"]) in (0, 1)
    captured = capsys.readouterr()
    assert r"two\x1b[2J\u202emoons" in captured.out
    assert not {"\x1b", "\u202e"} & set(captured.out + captured.err)

"""A released report is never edited: a commit adds it, and at most one more takes it out of the tree as a whole.

`reports/releases.csv` has the commit of each that is gone.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from ebmbench.report.results.table import read_rows

ROOT = Path(__file__).parents[2]
RELEASES = ROOT / "reports" / "releases.csv"


def git(root: Path, *arguments: str) -> list[str]:
    """The lines that Git answers."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    answer = subprocess.run(["git", *identity, *arguments], cwd=root, capture_output=True, text=True, check=True)
    return answer.stdout.splitlines()


def releases(root: Path) -> list[str]:
    """The folders that any commit of the history put a released report into, those that are gone too."""
    every = git(root, "log", "--no-renames", "--format=", "--name-only", "HEAD", "--", "reports")
    parts = [Path(name).parts for name in every]
    return sorted(
        {"/".join(part[:3]) for part in parts if len(part) > 3 and part[1] != "tuning" and part[2] != "latest"}
    )


def edits(root: Path, folder: str) -> list[str]:
    """What happened to a release after the commit that added it; its whole text is compared as well, for merges."""
    gone = not git(root, "ls-files", "--", folder)
    kinds = f"--diff-filter={'MT' if gone else 'MDT'}"
    touched = git(root, "log", "--no-renames", "--format=", "--name-only", kinds, "HEAD", "--", folder)
    found = [f"edited: {name}" for name in touched]
    adding = list(dict.fromkeys(git(root, "log", "--no-renames", "--format=%h", "--diff-filter=A", "--", folder)))
    found += [f"added to later: {commit}" for commit in adding[:-1]]
    if gone:
        return found
    return found + [f"not as released: {name}" for name in git(root, "diff", "--name-only", adding[-1], "--", folder)]


def test_no_released_report_was_ever_edited() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a Git clone: there is no history to look into")
    if git(ROOT, "rev-parse", "--is-shallow-repository") == ["true"]:
        pytest.skip("a shallow clone: the history is not there (`git fetch --unshallow` brings it)")
    found = {folder: edits(ROOT, folder) for folder in releases(ROOT)}
    assert "reports/quick/0.1.0" in found
    assert not {folder: lines for folder, lines in found.items() if lines}
    listed = {f"reports/{row['suite']}/{row['version']}": row["commit"] for row in read_rows(RELEASES)}
    assert set(listed) == {folder for folder in found if not (ROOT / folder).exists()}
    for folder, commit in listed.items():
        assert git(ROOT, "log", "--no-renames", "--format=%H", "--diff-filter=A", "--", folder)[-1] == commit
        latest = str(Path(folder).with_name("latest"))
        assert git(ROOT, "rev-parse", f"{commit}:{folder}") == git(ROOT, "rev-parse", f"{commit}:{latest}")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One release, and a report that goes on."""
    git(tmp_path, "init", "--quiet")
    for version in ("1.0", "latest"):
        (tmp_path / "reports/small" / version).mkdir(parents=True)
        (tmp_path / "reports/small" / version / "report.md").write_text("first\n", encoding="utf-8")
    commit(tmp_path)
    (tmp_path / "reports/small/latest/report.md").write_text("second\n", encoding="utf-8")
    commit(tmp_path)
    return tmp_path


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "a commit")


def test_a_history_without_edits_passes(repository: Path) -> None:
    assert releases(repository) == ["reports/small/1.0"]
    assert edits(repository, "reports/small/1.0") == []


def test_an_edit_is_found_though_it_was_taken_back(repository: Path) -> None:
    report = repository / "reports/small/1.0/report.md"
    for text in ("better\n", "first\n"):
        report.write_text(text, encoding="utf-8")
        commit(repository)
    assert edits(repository, "reports/small/1.0") == ["edited: reports/small/1.0/report.md"] * 2


def test_a_file_that_is_added_later_is_found(repository: Path) -> None:
    (repository / "reports/small/1.0/more.md").write_text("more\n", encoding="utf-8")
    commit(repository)
    assert [line.split(":")[0] for line in edits(repository, "reports/small/1.0")] == [
        "added to later",
        "not as released",
    ]


def test_a_release_may_leave_the_tree_as_a_whole_and_not_in_part(repository: Path) -> None:
    (repository / "reports/small/2.0").mkdir()
    for name in ("report.md", "results.csv"):
        (repository / "reports/small/2.0" / name).write_text("second\n", encoding="utf-8")
    commit(repository)
    git(repository, "rm", "--quiet", "-r", "reports/small/1.0", "reports/small/2.0/results.csv")
    commit(repository)
    assert releases(repository) == ["reports/small/1.0", "reports/small/2.0"]
    assert edits(repository, "reports/small/1.0") == []
    assert "edited: reports/small/2.0/results.csv" in edits(repository, "reports/small/2.0")
    (repository / "reports/small/1.0").mkdir()
    (repository / "reports/small/1.0/report.md").write_text("better\n", encoding="utf-8")
    commit(repository)
    assert edits(repository, "reports/small/1.0")


def test_an_edit_that_is_not_committed_yet_is_found(repository: Path) -> None:
    (repository / "reports/small/1.0/report.md").write_text("better\n", encoding="utf-8")
    assert edits(repository, "reports/small/1.0") == ["not as released: reports/small/1.0/report.md"]

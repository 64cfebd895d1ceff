"""`ebmbench compare` in a real repository: two commits with a deliberate change, read through DVC."""

from pathlib import Path

import pytest

from tests.report.compare.conftest import compare, git, print_comparison


@pytest.mark.parametrize("sides", [("v1", "HEAD"), ("HEAD~1", "workspace"), ("HEAD~1",), ("reports/small/1.0", "HEAD")])
def test_a_deliberate_change_is_told_with_its_cause(repository: Path, sides: tuple[str, ...]) -> None:
    text = print_comparison(repository, *sides)
    assert "**1 number got worse, 0 got better.** Of 2 that both sides have, 1 stayed equal" in text
    assert "| `two_moons` | dsm | KL ↓ | 0.200\u00a0±\u00a00.25 | 0.407\u00a0±\u00a00.51 | +103.3 % |" in text
    assert "| `training.budget` | `100` | `50` |" in text
    assert "0 of 3 common runs were made from the same inputs" in text
    assert "very same report" not in text
    known = sides[0] != "reports/small/1.0"  # a folder without a report.md names no commit
    assert ("| `ebmbench/dsm.py` | +1 | −1 |" in text) == known


def test_a_side_with_itself_has_nothing_to_tell(repository: Path) -> None:
    text = print_comparison(repository, "HEAD", "HEAD")
    assert "**0 numbers got worse, 0 got better.** Of 2 that both sides have, 2 stayed equal" in text
    assert "## Got" not in text
    assert text.count("The same.") == 2
    assert "Both sides hold the very same report" in text


def test_nothing_is_checked_out_and_the_text_goes_to_the_given_file(repository: Path, tmp_path: Path) -> None:
    before = git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")
    file = tmp_path / "new" / "changes.md"
    answer = compare(repository, "v1", "--output", str(file))
    assert answer.returncode == 0, answer.stderr
    assert file.read_text(encoding="utf-8").startswith("# ebmbench: suite `small`, from `v1`")
    assert (git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")) == before


def test_files_that_git_does_not_know_yet_are_code_too(repository: Path) -> None:
    new = repository / "ebmbench" / "new.py"
    new.write_text("a = 1\nb = 2\n", encoding="utf-8")
    try:
        assert "| `ebmbench/new.py` | +2 | −0 |" in print_comparison(repository, "v1")
        assert "| `ebmbench/new.py` | +0 | −2 |" in print_comparison(repository, "workspace", "v1")
        assert "new.py" not in print_comparison(repository, "v1", "HEAD")
    finally:
        new.unlink()

"""`ebmbench compare` in a real repository: two commits with a deliberate change, read through DVC."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ebmbench.report.results import typed, write_results

PROJECT = Path(__file__).parents[2]
PARAMS = """\
benchmark:
  suite: small
training: {{budget: {budget}}}
methods:
  dsm: {{sigma: 0.1}}
"""


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def write(root: Path, budget: int, kl: list[float], fisher: list[float]) -> None:
    """The files of one state: parameters, code and report."""
    (root / "params.yaml").write_text(PARAMS.format(budget=budget), encoding="utf-8")
    (root / "ebmbench").mkdir(exist_ok=True)
    (root / "ebmbench" / "dsm.py").write_text(f"BUDGET = {budget}\n", encoding="utf-8")
    place = {"suite": "small", "dataset": "two_moons", "method": "dsm", "status": "ok", "direction": "lower"}
    values = [(metric, seed, one) for metric, ones in (("kl", kl), ("fisher", fisher)) for seed, one in enumerate(ones)]
    place |= {"digest": str(budget)}
    rows = [
        place | {"seed": str(seed), "label": f"seed={seed}", "metric": metric, "value": repr(one)}
        for metric, seed, one in values
    ]
    folder = root / "reports" / "small" / "latest"
    folder.mkdir(parents=True, exist_ok=True)
    write_results(typed(rows), folder / "results.csv")
    shutil.copyfile(root / "params.yaml", folder / "params.yaml")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "--quiet")
    subprocess.run([sys.executable, "-m", "dvc", "init", "--quiet"], cwd=root, check=True)
    write(root, 100, kl=[0.10, 0.20, 0.30], fisher=[1.0, 2.0, 3.0])
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "first")
    git(root, "tag", "v1")
    shutil.copytree(root / "reports" / "small" / "latest", root / "reports" / "small" / "1.0")
    write(root, 50, kl=[0.20, 0.41, 0.61], fisher=[1.0, 2.0, 3.0])
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "half the budget")
    return root


def compare(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, in the repository; the program is imported first, for there is a folder of its name there."""
    run = "import os, sys; from ebmbench.cli.main import main; os.chdir(sys.argv[1]); sys.exit(main(sys.argv[2:]))"
    command = [sys.executable, "-c", run, str(root), "compare", *words]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("sides", [("v1", "HEAD"), ("HEAD~1", "workspace"), ("HEAD~1",), ("reports/small/1.0", "HEAD")])
def test_a_deliberate_change_is_told_with_its_cause(repository: Path, sides: tuple[str, ...]) -> None:
    answer = compare(repository, *sides)
    assert answer.returncode == 0, answer.stderr
    text = answer.stdout
    assert "**1 number got worse, 0 got better.** Of 2 that both sides have, 1 stayed equal" in text
    assert "| `two_moons` | dsm | KL ↓ | 0.200 ± 0.248 | 0.407 ± 0.509 | +103.3 % |" in text
    assert "| `training.budget` | `100` | `50` |" in text
    assert "0 of 3 common runs were made from the same inputs" in text
    known = sides[0] != "reports/small/1.0"  # a folder without a report.md names no commit
    assert ("| `ebmbench/dsm.py` | +1 | −1 |" in text) == known


def test_a_side_with_itself_has_nothing_to_tell(repository: Path) -> None:
    text = compare(repository, "HEAD", "HEAD").stdout
    assert "**0 numbers got worse, 0 got better.** Of 2 that both sides have, 2 stayed equal" in text
    assert "## Got" not in text
    assert text.count("The same.") == 2


def test_nothing_is_checked_out_and_the_text_goes_where_it_is_told(repository: Path, tmp_path: Path) -> None:
    before = git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")
    file = tmp_path / "new" / "changes.md"
    answer = compare(repository, "v1", "--output", str(file))
    assert answer.returncode == 0, answer.stderr
    assert file.read_text(encoding="utf-8").startswith("# ebmbench: suite `small`, from `v1`")
    assert (git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["v9"], "v9: found neither a folder with results.csv nor a Git revision of that name"),
        (["v1", "--suite", "other"], "v1: found no reports/other/latest/results.csv in that revision"),
        (["reports/small"], "results.csv: not found"),
    ],
)
def test_what_is_not_there_is_named_in_one_line(repository: Path, words: list[str], message: str) -> None:
    answer = compare(repository, *words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1

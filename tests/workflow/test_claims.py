"""A suite of claims in a clone, with real stages: a fault in a method turns the row that it concerns, and no other."""

import csv
from pathlib import Path

import pytest

from tests.workflow.conftest import Clone, make_clone

CLAIMS = """\
# Two claims, for tests.
benchmark:
  suite: tiny
  datasets: []
  methods: []
  claims: [adance_one_is_mle, cd_one_is_score_matching]
"""
REPORT = "reports/tiny/latest"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory, server: str) -> Clone:
    return make_clone(tmp_path_factory.mktemp("claims"), server, CLAIMS)


def verdicts(root: Path) -> dict[str, tuple[str, str]]:
    rows = csv.DictReader((root / REPORT / "verdicts.csv").read_text(encoding="utf-8").splitlines())
    return {row["claim"]: (row["verdict"], row["again"]) for row in rows}


def test_a_planted_fault_turns_its_row_and_leaves_the_other(claims: Clone) -> None:
    claims.run("ebmbench", "run", "--jobs", "2")
    good = ("reproduced", "reproduced")
    assert verdicts(claims.root) == {"adance_one_is_mle": good, "cd_one_is_score_matching": good}
    assert claims.stale() == set()
    assert "up to date" in claims.run("ebmbench", "run")
    measured = {path.parent.name for path in (claims.root / "work").glob("*/done")}

    claims.edit("ebmbench/methods/adance.py", "softplus(on_negatives).mean()", "1.1 * softplus(on_negatives).mean()")
    claims.run("ebmbench", "run", "--jobs", "2")
    assert verdicts(claims.root)["adance_one_is_mle"] == ("not reproduced", "not reproduced")
    assert verdicts(claims.root)["cd_one_is_score_matching"] == good
    anew = {path.parent.name for path in (claims.root / "work").glob("*/done")} - measured
    assert len(anew) == 20  # two arms at ten seeds of the one; the other was found again

    page = (claims.root / REPORT / "claims.md").read_text(encoding="utf-8")
    assert "2 claims: 1 reproduced, 1 not reproduced." in page or "2 claims: 1 not reproduced, 1 reproduced." in page


def test_dvc_alone_gives_the_same_files(claims: Clone) -> None:
    before = {file.parent.name: file.read_bytes() for file in (claims.root / "runs/tiny/_claims").rglob("verdict.json")}
    claims.run("dvc", "repro", "--force", "claim@cd_one_is_score_matching")
    after = {file.parent.name: file.read_bytes() for file in (claims.root / "runs/tiny/_claims").rglob("verdict.json")}
    assert after == before

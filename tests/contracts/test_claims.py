"""What every claim keeps: a rule that can be met and can fail, words of its own, a place in the suite, and a test."""

import ast
from pathlib import Path

import pytest

from ebmbench.claims.testing.claim import open_claim
from ebmbench.claims.testing.criterion import ALPHA
from ebmbench.config.registry import PACKAGE, describe, names
from ebmbench.config.schema import read_yaml
from ebmbench.workspace.code_hash import imported_files

ROOT = Path(__file__).parents[2]
CLAIMS = names("claims")


def test_one_suite_puts_every_claim_to_the_test() -> None:
    """`anchors` those about a published number, `claims` the others."""
    suites = {
        name: read_yaml(ROOT / "suites" / f"{name}.yaml")["benchmark"]["claims"] for name in ("claims", "anchors")
    }
    assert sorted(suites["claims"] + suites["anchors"]) == CLAIMS
    for suite, listed in suites.items():
        for name in listed:
            published = [criterion.published is not None for criterion in open_claim(name).CLAIM.criteria]
            assert any(published) == (suite == "anchors")


@pytest.mark.parametrize("name", CLAIMS)
def test_a_rule_can_be_met_and_can_fail(name: str) -> None:
    claim = open_claim(name).CLAIM
    keys = [criterion.key for criterion in claim.criteria]
    assert len(keys) == len(set(keys)) > 0
    for criterion in claim.criteria:
        assert criterion.alpha == ALPHA
        assert criterion.side != "within" or (criterion.exact and criterion.published is not None)
        if not criterion.exact:
            assert claim.seeds >= 4  # fewer leave a t-test at this level without power
            assert criterion.expected is not None
            assert (criterion.expected > criterion.bound) == (criterion.side == "above")


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_says_what_is_claimed_where_and_what_is_done(name: str) -> None:
    claim, entry = open_claim(name).CLAIM, describe("claims", name)
    assert entry.paper
    assert 1900 < entry.year < 2100
    assert 20 < len(entry.title) < 130
    for text in (claim.sentence, claim.here, claim.caption):
        assert len(text.split()) >= 5
        assert text.endswith(".")
    assert all(criterion.says for criterion in claim.criteria)
    assert len(set(claim.arms)) == len(claim.arms) > 0


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_stands_alone_and_has_a_test(name: str) -> None:
    files = imported_files([f"ebmbench.claims.{name}"])
    assert [file.stem for file in files if file.parent == PACKAGE / "claims" and file.stem != "__init__"] == [name]
    assert (ROOT / "tests" / "claims" / f"test_{name}.py").is_file()


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_loads_nothing_by_name(name: str) -> None:
    """What is loaded by name the hash of a measurement would not see."""
    tree = ast.parse((PACKAGE / "claims" / f"{name}.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert not imported & {"load", "load_module", "import_module"}

"""What decides a measurement is its code: new words change nothing, another experiment or method does."""

import re
from pathlib import Path

import pytest

from ebmbench.claims.testing.measure import measurement_hash
from ebmbench.config.registry import PACKAGE
from ebmbench.workspace import code_hash

CLAIM = "adance_one_is_mle"
OWN = PACKAGE / "claims" / f"{CLAIM}.py"


def _forget() -> None:
    code_hash.imports_of.cache_clear()
    code_hash.tree_hash.cache_clear()


@pytest.fixture
def edit(monkeypatch: pytest.MonkeyPatch):
    """Replace a text in a file, as the hash sees it; nothing is written."""

    def edited(file: Path, old: str, new: str) -> None:
        assert re.search(old, file.read_text(encoding="utf-8"))

        def seen(path: Path) -> bytes:
            text = path.read_text(encoding="utf-8")
            return (re.sub(old, new, text, count=1) if path == file else text).encode()

        _forget()
        monkeypatch.setattr(code_hash, "text_of", seen)

    yield edited
    _forget()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (OWN, r"caption=", "caption='new' "),
        (OWN, r"seeds=\d+", "seeds=99"),
        (OWN, r'^"""', '"""More words. '),
        (OWN, r"axes\.set\(", "axes.set(title='new', "),
        (PACKAGE / "report" / "figures" / "theme.py", "WIDTH = 7.0", "WIDTH = 11.0"),
        (PACKAGE / "claims" / "testing" / "criterion.py", "ALPHA = 0.01", "ALPHA = 0.05"),
    ],
)
def test_what_only_decides_and_shows_measures_nothing_again(edit, file: Path, old: str, new: str) -> None:
    before = measurement_hash(CLAIM)
    edit(file, old, new)
    assert measurement_hash(CLAIM) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (OWN, r"STEPS, BATCH", "MORE, BATCH"),
        (PACKAGE / "methods" / "adance.py", r"loss = softplus", "loss = 2 * softplus"),
        (PACKAGE / "samplers" / "mala.py", r"return ", "return None or "),
        (PACKAGE / "claims" / "testing" / "bench.py", r"epochs=60", "epochs=61"),
    ],
)
def test_another_experiment_is_measured_anew(edit, file: Path, old: str, new: str) -> None:
    before = measurement_hash(CLAIM)
    edit(file, old, new)
    assert measurement_hash(CLAIM) != before


def test_a_method_that_a_claim_does_not_use_changes_nothing(edit) -> None:
    before = measurement_hash(CLAIM)
    edit(PACKAGE / "methods" / "ncsn.py", r"def ", "def renamed_")
    assert measurement_hash(CLAIM) == before

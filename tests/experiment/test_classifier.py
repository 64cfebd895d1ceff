"""The reference classifier is trained once, whoever asks for it."""

from pathlib import Path

import pytest

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.digits_protocol import open_digits
from ebmbench.experiment import classifier
from ebmbench.features.classifier import load_classifier
from ebmbench.workspace.store import Store
from tests.features.project import digits


def test_a_claim_finds_the_classifier_that_the_stage_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    root = digits()
    monkeypatch.setattr(classifier, "train", None)
    bench = Bench(root)
    assert bench.classifier(open_digits(bench)).name == load_classifier(root / "features" / "digits").name


def test_fresh_makes_each_result_anew_once(tmp_path: Path) -> None:
    made: list[str] = []

    def make(_: Path, result: Path) -> None:
        made.append(result.name)

    Store(tmp_path).obtain("key", make)
    fresh = Store(tmp_path, fresh=True)
    for _ in range(3):
        fresh.obtain("key", make)
    assert len(made) == 2

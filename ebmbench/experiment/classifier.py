"""The reference classifier of labelled images, on whose features samples are judged: trained once, then found.

One digest names it for the stage `features` and for claims alike: data, labels, settings and code.
"""

import time
from pathlib import Path
from typing import Any

from torch import Tensor

from ebmbench.config.sections import Features
from ebmbench.core.dataset import Facts
from ebmbench.features.classifier import ReferenceClassifier, hash_tensors, train
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import write_json
from ebmbench.workspace.store import Store, digest

Split = tuple[Tensor, Tensor]
"""Images `(N, C, H, W)` in [−1, 1] and their labels `(N,)`."""


def train_classifier(facts: Facts, train_split: Split, test_split: Split, settings: Features, store: Store) -> Path:
    """Train the classifier or find it; the folder holds classifier.safetensors and status.json."""
    labels = hash_tensors({"train": train_split[1], "test": test_split[1]})
    inputs = {
        "facts": facts.as_dict(),
        "labels": labels,
        "settings": settings.model_dump(),
        "code": code_hash([ReferenceClassifier.__module__]),
    }
    key = digest(inputs)
    return store.obtain(key, lambda _, result: _fill(result, facts, train_split, test_split, settings))


def _fill(result: Path, facts: Facts, train_split: Split, test_split: Split, settings: Features) -> None:
    clock = time.perf_counter()
    (x, labels), (test, test_labels) = train_split, test_split
    made = ReferenceClassifier.of(train(x, labels, len(facts.classes), settings), facts, x)
    made.save(result)
    right = made.classify(test) == test_labels
    status: dict[str, Any] = {"status": "ok", "reason": None, "dataset": facts.name, "extractor": made.name}
    status |= {"hash": made.hash, "accuracy": float(right.double().mean()), "n": len(test_labels)}
    write_json(result / "status.json", status | {"settings": settings.model_dump()})
    print(f"classifier of {facts.name}: accuracy {status['accuracy']:.4f}, {time.perf_counter() - clock:.1f} s")

"""features@<dataset>: train the reference classifier of labelled images, on whose features samples are judged.

Writes `features/<dataset>/`: classifier.safetensors and status.json (accuracy on the test images, the extractor's
name), the same bytes every time. Data that are no labelled images leave a status `skipped`, with the reason.
"""

import shutil
import sys
import time
from pathlib import Path
from typing import Any

from ebmbench.config.params import load_params
from ebmbench.config.sections import Features
from ebmbench.core.dataset import Facts, load_facts, read_labels, read_split
from ebmbench.features.classifier import train
from ebmbench.features.reference import Reference, tensors_hash
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.code_hash import code_hash
from ebmbench.workspace.files import sha256_of, write_json
from ebmbench.workspace.layout import WORK, features_folder, prepared_folder
from ebmbench.workspace.manifest import FEATURES, materialising
from ebmbench.workspace.store import Store, digest


def make_features(root: Path, dataset: str) -> None:
    """Train the classifier, or find an equal one again, and put it in its place."""
    data, settings = prepared_folder(root, dataset), load_params(root).on(dataset).features
    facts = load_facts(data)
    target = features_folder(root, dataset)
    if reason := skip(facts):
        with materialising(target, FEATURES) as folder:
            return write_json(folder / "status.json", {"status": "skipped", "reason": reason})
    labels = {split: sha256_of(data / f"{split}_labels.npy") for split in ("train", "test")}
    inputs = {"facts": facts.as_dict(), "labels": labels, "settings": settings.model_dump()}
    key = digest({**inputs, "code": code_hash(["ebmbench.features.classifier", "ebmbench.features.reference"])})
    done = Store(root / WORK).obtain(key, lambda _, result: fill(result, data, facts, settings))
    with materialising(target, FEATURES) as folder:
        shutil.copytree(done, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)


def skip(facts: Facts) -> str | None:
    """Why a dataset gets no classifier, if it gets none."""
    if not facts.is_image:
        return "the data are no images"
    return None if facts.classes else "the images have no labels"


def fill(result: Path, data: Path, facts: Facts, settings: Features) -> None:
    """Train and write a folder."""
    clock = time.perf_counter()
    x = read_split(data, "train")
    network = train(x, read_labels(data, "train"), len(facts.classes), settings)
    made = Reference.of(network, facts, x)
    made.save(result)
    test, labels = read_split(data, "test"), read_labels(data, "test")
    right = made.classify(test) == labels
    status: dict[str, Any] = {"status": "ok", "reason": None, "dataset": facts.name, "extractor": made.name}
    status |= {"hash": tensors_hash(made.tensors), "accuracy": float(right.double().mean()), "n": len(labels)}
    write_json(result / "status.json", status | {"settings": settings.model_dump()})
    print(f"classifier of {facts.name}: accuracy {status['accuracy']:.4f}, {time.perf_counter() - clock:.1f} s")


main = stage_main("features", make_features, __doc__, "dataset")


if __name__ == "__main__":
    sys.exit(main())

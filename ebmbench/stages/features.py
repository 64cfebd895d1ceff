"""features@<dataset>: train the reference classifier of labelled images, on whose features samples are judged.

Writes `features/<dataset>/`: classifier.safetensors and status.json (accuracy on the test images, the extractor's
name), the same bytes every time. Data that are no labelled images leave a status `skipped`, with the reason.
"""

import shutil
import sys
from pathlib import Path

from ebmbench.config.params import load_params
from ebmbench.core.dataset import Facts, load_facts, read_labels, read_split
from ebmbench.experiment.classifier import train_classifier
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.files import write_json
from ebmbench.workspace.layout import WORK, features_folder, prepared_folder
from ebmbench.workspace.manifest import FEATURES, materialising
from ebmbench.workspace.store import Store


def make_features(root: Path, dataset: str) -> None:
    """Train the classifier, or find an equal one again, and put it in its place."""
    data, settings = prepared_folder(root, dataset), load_params(root).on(dataset).features
    facts = load_facts(data)
    target = features_folder(root, dataset)
    if reason := skip(facts):
        with materialising(target, FEATURES) as folder:
            return write_json(folder / "status.json", {"status": "skipped", "reason": reason})
    train, test = ((read_split(data, split), read_labels(data, split)) for split in ("train", "test"))
    done = train_classifier(facts, train, test, settings, Store(root / WORK))
    with materialising(target, FEATURES) as folder:
        shutil.copytree(done, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)


def skip(facts: Facts) -> str | None:
    """Why a dataset gets no classifier, if it gets none."""
    if not facts.is_image:
        return "the data are no images"
    return None if facts.classes else "the images have no labels"


main = stage_main("features", make_features, __doc__, "dataset")


if __name__ == "__main__":
    sys.exit(main())

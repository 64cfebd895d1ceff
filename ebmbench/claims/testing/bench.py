"""What the experiment of a claim may use: the benchmark's own data, training and FID.

All that is trained here is found again in `work/` by its digest, like every run of a cell.
"""

from pathlib import Path
from types import ModuleType

from pydantic import BaseModel
from torch import Tensor

from ebmbench.config.sections import Dataset, Features, Training
from ebmbench.core.dataset import to_levels
from ebmbench.core.method import Settings
from ebmbench.experiment.classifier import train_classifier
from ebmbench.experiment.data import Data, open_data
from ebmbench.experiment.runs import Run, train_run
from ebmbench.features.classifier import ReferenceClassifier, load_classifier
from ebmbench.features.extractor import ClassifierExtractor, extract
from ebmbench.metrics.common.fidelity import frechet_distance, inception_score, moments
from ebmbench.training.job import Job
from ebmbench.workspace.layout import WORK
from ebmbench.workspace.store import Store

CLASSIFIER = Features(epochs=60)  # as for digits in suites/defaults.yaml


class Bench:
    """Makes data and models, or finds them again, for the project at `root`."""

    def __init__(self, root: Path, fresh: bool = False) -> None:
        self.root = root
        self.store = Store(root / WORK, fresh)

    def data(self, module: ModuleType, train: int = 50_000, test: int = 10_000) -> Data:
        """A dataset of the benchmark: `bench.data(two_moons)`, of so many events (digits has 1297 and 500)."""
        name = _name(module)
        return open_data(name, Dataset(source=f"ebmbench/data/{name}.py", train=train, test=test), self.root)

    def train(
        self, method: ModuleType, settings: Settings, data: Data, model: BaseModel, training: Training, seed: int
    ) -> Run:
        """A model trained as the benchmark trains it: `bench.train(mle, mle.Settings(…), data, mlp.Settings(), …)`."""
        job = Job(_name(method), settings, {}, seed, training, model, data.facts)
        return train_run(job, data.train, self.store, data.train_labels)

    def classifier(self, data: Data) -> ReferenceClassifier:
        """The reference classifier of labelled images, on whose features FID looks."""
        assert data.train_labels is not None
        assert data.test_labels is not None
        train, test = (data.train, data.train_labels), (data.test, data.test_labels)
        return load_classifier(train_classifier(data.facts, train, test, CLASSIFIER, self.store))

    def fidelity(self, data: Data, samples: Tensor) -> dict[str, float]:
        """`fid` and `inception_score` of images `(N, C, H, W)` against all training images."""
        extractor, levels = ClassifierExtractor(self.classifier(data)), data.facts.image_levels
        (features, logits), (real, _) = (extract(to_levels(x, levels), extractor) for x in (samples, data.train))
        return {
            "fid": frechet_distance(moments(features), moments(real)),
            "inception_score": inception_score(logits),
        }


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]

"""What every model of a dataset is judged against: held-out data, the truth, the features of images.

The stages read it from their folders. A search of settings makes it from the same data and the same classifier, since
those folders belong to DVC.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ebmbench.config.params import Params
from ebmbench.config.sections import Metrics
from ebmbench.errors import UserError
from ebmbench.experiment.classifier import train_classifier
from ebmbench.experiment.data import Data
from ebmbench.metrics.common.evaluation import Evaluation, Subject
from ebmbench.metrics.common.shared import Shared
from ebmbench.workspace.files import read_json, sha256_of
from ebmbench.workspace.layout import PARAMS_YAML
from ebmbench.workspace.store import Store


@dataclass(frozen=True)
class Standard:
    """The same for all models; `features` is the folder of the reference classifier, `folder` that of prepared data."""

    data: Data
    settings: Metrics
    features: Path | None
    shared: Shared
    folder: Path | None = None

    @classmethod
    def of(cls, data: Data, root: Path, params: Params, store: Store) -> Self:
        """By the params of the dataset, without the folders of stages; the classifier is trained, or found."""
        features = _find_classifier(data, params, store)
        described = describe_features(root, features, params.metrics)
        origin = {"data": data.facts.as_dict(), "source": data.source, "features": described}
        return cls(data, params.metrics, features, Shared(store, origin))

    def evaluate(self, subject: Subject, with_train: bool | None = None) -> Evaluation:
        """A subject against it; by default only images are compared with training data."""
        data, shown = self.data, self.data.facts.is_image if with_train is None else with_train
        known = (data.test, data.density, data.facts, self.settings, data.train if shown else None)
        return Evaluation(subject, *known, self.features, self.shared, self.folder, data.test_labels)


def describe_features(root: Path, features: Path | None, settings: Metrics) -> dict[str, Any]:
    """What names the features that images are judged on: the classifier's status, and the weights of Inception."""
    status = features and features / "status.json"
    weights = settings.inception_weights
    if weights is not None and not (root / weights).is_file():
        raise UserError(f"{PARAMS_YAML}: metrics.inception_weights: found {weights!r}, but there is no such file")
    return {
        "classifier": read_json(status) if status and status.is_file() else None,
        "inception": None if weights is None else sha256_of(root / weights),
    }


def _find_classifier(data: Data, params: Params, store: Store) -> Path | None:
    """The folder of the reference classifier; only labelled images have one."""
    if not data.facts.is_image or data.train_labels is None or data.test_labels is None:
        return None
    train, test = (data.train, data.train_labels), (data.test, data.test_labels)
    return train_classifier(data.facts, train, test, params.features, store)

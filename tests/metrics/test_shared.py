"""What all models of a dataset share: computed once, found by every stage, never wrong."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Value
from ebmbench.metrics.common.shared import Shared
from ebmbench.workspace.store import Store
from tests.conftest import gaussian_facts

METRICS = ("kl", "reverse_kl", "kl_target", "total_variation", "off_support", "mode_density", "mode_sampler", "mmd")
SETTINGS = Settings(cells=64, block=50)


class Truth(Mixture):
    """Two modes, and how many points were asked for."""

    asked = 0

    def log_prob(self, x: Tensor) -> Tensor:
        type(self).asked += len(x)
        return super().log_prob(x)


def truth() -> Truth:
    return Truth(torch.tensor([[-1.0, 0.0], [1.0, 0.0]]), torch.ones(2), 0.7)


def evaluation(shared: Shared | None, deviation: float = 0.9) -> Evaluation:
    model, density = Mixture(torch.zeros(1, 2), torch.ones(1), deviation), truth()
    samples = model.sample(200, stream(0, "model"))
    subject = Subject(lambda x: -model.log_prob(x), samples, density.smoothed(0.1), target_origin={"sigma": 0.1})
    return Evaluation(subject, density.sample(200, stream(0, "t")), density, gaussian_facts(2), SETTINGS, shared=shared)


def judge(e: Evaluation) -> list[Value]:
    found = [load("metrics", name).compute(e) for name in METRICS]
    assert all(one.value is not None for one in found)
    return found


def test_the_truth_is_computed_once_for_all_models_and_stages(tmp_path: Path) -> None:
    alone = [judge(evaluation(None, deviation)) for deviation in (0.8, 0.9)]
    judge(evaluation(Shared(Store(tmp_path), "truth")))
    Truth.asked = 0
    shared = Shared(Store(tmp_path), "truth")  # of another process
    assert [judge(evaluation(shared, deviation)) for deviation in (0.8, 0.9)] == alone
    assert Truth.asked == 0


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    expected = judge(evaluation(Shared(Store(tmp_path), "truth")))
    files = list(tmp_path.glob("*/done/*.npy"))
    assert len(files) == 5  # log p, log p of the target, regions, their weights, the test set's kernel
    for file in files:
        file.write_bytes(file.read_bytes()[:-8] + bytes(8))
    assert judge(evaluation(Shared(Store(tmp_path), "truth"))) == expected
    files[0].unlink()
    assert judge(evaluation(Shared(Store(tmp_path), "truth"))) == expected


def test_other_data_another_target_and_other_grids_share_nothing(tmp_path: Path) -> None:
    e = evaluation(Shared(Store(tmp_path), "truth"))
    e.log_target, e.log_truth  # noqa: B018
    before = len(list(tmp_path.iterdir()))
    for other in (
        replace(e, shared=Shared(Store(tmp_path), "other")),
        replace(e, settings=Settings(cells=32, block=50)),
        replace(e, facts=replace(e.facts, name="other")),  # as a model has them that was trained on other data
    ):
        other.log_truth  # noqa: B018
    replace(e, subject=replace(e.subject, target_origin={"sigma": 0.2})).log_target  # noqa: B018
    assert len(list(tmp_path.iterdir())) == before + 4


def test_code_that_computes_them_is_part_of_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation(Shared(Store(tmp_path), "truth")).log_truth  # noqa: B018
    monkeypatch.setattr("ebmbench.metrics.common.shared.code_hash", lambda modules: f"edited {modules}")
    evaluation(Shared(Store(tmp_path), "truth")).log_truth  # noqa: B018
    assert len(list(tmp_path.iterdir())) == 2

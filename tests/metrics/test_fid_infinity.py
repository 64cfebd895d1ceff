"""FID for n → ∞ on Gaussians, whose Fréchet distance is known."""

import numpy as np
import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.core.streams import stream
from ebmbench.metrics.common.evaluation import Unavailable
from ebmbench.metrics.common.fidelity import frechet_distance, moments
from ebmbench.metrics.fid_infinity import distance_to, extrapolate
from tests.features.project import evaluation

D = 32
MEAN = torch.zeros(D, dtype=torch.float64)
SCALES = torch.linspace(0.2, 2, D, dtype=torch.float64)  # deviations of the reference, along axes


def draw(count: int, shift: float, wider: float, seed: int) -> Tensor:
    noise = torch.randn(count, D, generator=stream(seed, "features"), dtype=torch.float64)
    return shift + wider * SCALES * noise


def fid(x: Tensor) -> float:
    return frechet_distance(moments(x), (MEAN.numpy(), SCALES.square().diag().numpy()))


@pytest.mark.parametrize(("shift", "wider"), [(0.0, 1.0), (0.2, 1.0), (0.1, 1.3)])
def test_it_is_nearer_to_the_truth_than_fid_is(shift: float, wider: float) -> None:
    truth = D * shift**2 + (wider - 1) ** 2 * float(SCALES.square().sum())
    errors = {"fid": [], "infinity": []}
    for seed in range(20):
        x = draw(300, shift, wider, seed)
        errors["fid"].append(fid(x) - truth)
        errors["infinity"].append(extrapolate(x, MEAN, SCALES.square().diag()) - truth)
    bias = {name: np.mean(found) for name, found in errors.items()}
    scatter = {name: np.std(found) / np.sqrt(20) for name, found in errors.items()}
    assert bias["fid"] > 8 * scatter["fid"]
    assert abs(bias["infinity"]) < 0.15 * bias["fid"] + 3 * scatter["infinity"]
    assert abs(bias["infinity"]) < 0.4 * bias["fid"]


def test_distances_of_rows_are_the_frechet_distances_of_fid() -> None:
    x = draw(200, 0.3, 1.2, 0)
    real = draw(500, 0.0, 1.0, 1) @ torch.linalg.qr(torch.randn(D, D, generator=stream(0, "axes")).double()).Q
    mean, covariance = moments(real)
    distance = distance_to(x, torch.from_numpy(mean), torch.from_numpy(covariance))
    for rows in (torch.arange(200), torch.arange(100), torch.arange(3, 90, 2), torch.arange(20)):
        assert distance(rows) == pytest.approx(frechet_distance(moments(x[rows]), (mean, covariance)), rel=1e-6)


def test_few_samples_have_no_line_and_the_reason_names_how_many_are_needed() -> None:
    compute, test = load("metrics", "fid_infinity").compute, evaluation(None).test
    with pytest.raises(Unavailable, match="needs 256 samples, four for each feature, has 255"):
        compute(evaluation(test[:255]))
    found = compute(evaluation(test[:256]))
    assert "line in 1/n through 15 sizes from 128 to 256, 10 subsets each" in found.protocol
    assert found.n == 256
    assert found.error is None


def test_on_digits_the_line_takes_the_bias_off_noisy_images() -> None:
    e = evaluation(None)
    noisy = e.train + 0.2 * torch.randn(e.train.shape, generator=stream(0, "noise"))
    noisy = noisy[torch.randperm(len(noisy), generator=stream(0, "order"))]  # as they come, a writer's are together
    compute = load("metrics", "fid_infinity").compute
    few = [load("metrics", "fid").compute(evaluation(part)).value for part in noisy.split(300)[:4]]
    lines = [compute(evaluation(part)).value for part in noisy.split(300)[:4]]
    whole = compute(evaluation(noisy)).value
    assert np.mean(few) - whole > 3 * abs(np.mean(lines) - whole)

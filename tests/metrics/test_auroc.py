"""Detection of outliers by energy: the exact share of pairs, its error, and what each kind of outliers is."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics as Settings
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.metrics.auroc_gaussian import draw_alike
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable, Value
from ebmbench.metrics.common.outliers import area_under_curve
from ebmbench.workspace.files import write_json
from tests.conftest import gaussian_facts
from tests.images import image_facts, images

COLOUR = (3, 8, 8)


def normal(count: int, name: str) -> Tensor:
    return torch.randn(count, generator=stream(0, name), dtype=torch.float64)


def judge(energy: Energy | None, shape: tuple[int, int, int] = (1, 8, 8), data: Path | None = None) -> Evaluation:
    facts = image_facts(shape)
    return Evaluation(
        Subject(energy, None), images(300, shape), None, facts, Settings(), images(400, shape, 1), data=data
    )


def compute(name: str, e: Evaluation) -> Value:
    found: Value = load("metrics", name).compute(e)
    return found


def test_it_is_the_share_of_all_pairs_with_ties_a_half() -> None:
    x, y = (normal(60, "x") * 3).round(), (normal(45, "y") * 3 + 1).round()  # many ties
    share = ((y[:, None] > x) + 0.5 * (y[:, None] == x)).double()
    value, error = area_under_curve(x, y)
    assert value == pytest.approx(share.mean().item(), abs=1e-12)
    by_hand = share.mean(0).var() / len(x) + share.mean(1).var() / len(y)  # DeLong's structural components
    assert error == pytest.approx(math.sqrt(by_hand), rel=1e-9)
    assert area_under_curve(y, x)[0] == pytest.approx(1 - value, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1.0, -2.0])
def test_of_two_gaussians_it_is_known_and_its_error_is_its_spread(shift: float) -> None:
    runs = [area_under_curve(normal(400, f"x{i}"), normal(300, f"y{i}") + shift) for i in range(200)]
    values, errors = torch.tensor(runs, dtype=torch.float64).T
    exact = 0.5 * (1 + math.erf(shift / 2))  # Φ(δ/√2)
    assert abs(values.mean().item() - exact) < 4 * values.std().item() / math.sqrt(len(runs))
    assert errors.mean().item() == pytest.approx(values.std().item(), rel=0.15)


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("auroc_noise", lambda x: (x[:, :, 1:] - x[:, :, :-1]).flatten(1).square().sum(1)),  # the data are smooth
        ("auroc_gaussian", lambda x: (x.amax((1, 2, 3)) - 1).abs()),  # and each has one white spot
    ],
)
def test_an_energy_that_knows_the_data_tells_noise(name: str, good: Callable[[Tensor], Tensor]) -> None:
    found = compute(name, judge(good))
    assert found.value > 0.95
    assert compute(name, judge(lambda x: -good(x))).value == pytest.approx(1 - found.value, abs=1e-12)
    assert found.n == 600
    assert "noise" in found.protocol


def test_uniform_noise_has_all_grey_values_alike_and_is_as_large_as_the_test_set() -> None:
    seen: list[Tensor] = []
    compute("auroc_noise", judge(lambda x: seen.append(x) or x.flatten(1).sum(1)))
    noise = seen[1]
    counts = ((noise + 1) * 8).round().long().flatten().bincount(minlength=17).double()
    assert noise.shape == (300, 1, 8, 8)
    assert len(noise.unique()) == len(counts) == 17
    assert (counts / counts.sum() - 1 / 17).abs().max() < 0.005


def test_gaussian_noise_has_the_mean_and_the_covariance_of_the_training_images() -> None:
    rows = images(400)
    drawn = draw_alike(rows, 200_000, stream(0, "x")).flatten(1).double()
    x = rows.flatten(1).double()
    assert (drawn.mean(0) - x.mean(0)).abs().max() < 0.01
    assert (torch.cov(drawn.T) - torch.cov(x.T)).abs().max() < 0.01
    seen: list[Tensor] = []
    compute("auroc_gaussian", judge(lambda x: seen.append(x) or x.flatten(1).sum(1)))
    assert set(seen[1].unique().tolist()) <= set(seen[0].new_tensor([k / 8 - 1 for k in range(17)]).float().tolist())


def test_exchanged_colours_are_of_other_images_than_the_data_they_stand_beside() -> None:
    e = judge(lambda x: x[:, 0].flatten(1).sum(1), COLOUR)
    tinted = e.test * torch.tensor([1.0, 0.5, 0.25])[:, None, None]  # red is the brightest
    seen: list[Tensor] = []
    compute(
        "auroc_channels", replace(e, test=tinted, subject=Subject(lambda x: seen.append(x) or x.sum((1, 2, 3)), None))
    )
    inside, outside = seen
    assert len(inside) == len(outside) == 150
    back = outside.roll(-1, dims=1)
    for one in inside[:20]:
        assert not (back == one).flatten(1).all(1).any()
    assert (outside.abs().mean((0, 2, 3)).argmax(), inside.abs().mean((0, 2, 3)).argmax()) == (1, 0)
    with pytest.raises(Unavailable, match="no colours"):
        compute("auroc_channels", judge(lambda x: x.sum((1, 2, 3))))


def write_outliers(folder: Path, rows: np.ndarray) -> None:
    facts = image_facts()
    write_json(folder / "facts.json", facts.as_dict())
    write_json(folder / "outliers.json", {"name": "crosses"})
    np.save(folder / "outliers.npy", rows)


def test_other_data_are_those_that_prepare_has_written(tmp_path: Path) -> None:
    def brightness(x: Tensor) -> Tensor:
        return x.mean((1, 2, 3))

    write_outliers(tmp_path, np.full((40, 1, 8, 8), 16, dtype=np.uint8))
    found = compute("auroc_outliers", judge(brightness, data=tmp_path))
    assert (found.value, found.error, found.n) == (1.0, 0.0, 340)
    assert "40 of crosses" in found.protocol
    write_outliers(tmp_path, np.zeros((40, 1, 8, 8), dtype=np.uint8))
    assert compute("auroc_outliers", judge(brightness, data=tmp_path)).value == 0.0


def test_without_other_data_the_reason_is_that_of_prepare(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"no other data are named .*datasets\.\w+\.outliers"):
        compute("auroc_outliers", judge(lambda x: x.sum((1, 2, 3)), data=tmp_path))
    (tmp_path / "outliers.json").write_text(json.dumps({"name": "crosses", "reason": "crosses: not here"}))
    with pytest.raises(Unavailable, match="crosses: not here"):
        compute("auroc_outliers", judge(lambda x: x.sum((1, 2, 3)), data=tmp_path))


@pytest.mark.parametrize("name", ["auroc_noise", "auroc_gaussian", "auroc_outliers", "auroc_channels"])
def test_a_score_alone_points_and_energies_that_are_no_numbers_are_reasons(name: str, tmp_path: Path) -> None:
    write_outliers(tmp_path, np.zeros((40, 1, 8, 8), dtype=np.uint8))
    e = judge(lambda x: x.sum((1, 2, 3)), COLOUR if name == "auroc_channels" else (1, 8, 8), tmp_path)
    assert compute(name, e).value is not None
    alone = Subject(None, None, score=lambda x: -x)
    with pytest.raises(Unavailable, match="no energy"):
        compute(name, replace(e, subject=alone))
    with pytest.raises(Unavailable, match="no images"):
        compute(name, replace(e, facts=gaussian_facts(2)))
    with pytest.raises(Unavailable, match="not numbers"):
        compute(name, replace(e, subject=Subject(lambda x: x.sum((1, 2, 3)) * math.nan, None)))

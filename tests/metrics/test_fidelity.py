"""Metrics of images against formulas of our own, on features that we extract ourselves."""

import math
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import Tensor

from ebmbench.baselines import noisy, oracle
from ebmbench.config.registry import describe, load
from ebmbench.core.dataset import UNVERIFIED, from_levels, to_levels
from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.features.classifier import load_classifier
from ebmbench.metrics import class_entropy
from ebmbench.metrics.common import fidelity
from ebmbench.metrics.common.evaluation import Evaluation, Subject, Unavailable, Value
from ebmbench.metrics.common.neighbours import expected_coverage
from ebmbench.metrics.common.shared import Shared
from ebmbench.workspace.store import Store
from tests.conftest import gaussian_facts
from tests.features.project import digits, evaluation

METRICS = ["fid", "fid_ratio", "kid", "inception_score", "precision", "recall", "density", "coverage", "class_entropy"]
INFINITE = [*METRICS, "fid_infinity"]  # which needs more samples than the others


def value(name: str, e: Evaluation) -> Value:
    found: Value = load("metrics", name).compute(e)
    assert found.value is not None
    return found


def features(e: Evaluation, x: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Standardised features and logits of quantised images."""
    made = load_classifier(digits() / "features/digits")
    network = made.network()
    with torch.no_grad():
        raw = network.features(from_levels(to_levels(x, 17), 17))
        logits = network.logits(raw).double().numpy()
    return ((raw.double() - made.tensors["mean"]) / made.tensors["deviation"]).numpy(), logits


def fresh(count: int) -> Evaluation:
    """Test images with some noise, neither quantised nor inside the box."""
    test = evaluation(None).test[:count]
    return evaluation(test + 0.3 * torch.randn(test.shape, generator=stream(0, "spoilt")))


@cache
def spoilt() -> Evaluation:
    """The same for several tests: its numbers are kept in it."""
    return fresh(300)


def test_training_images_have_standardised_features() -> None:
    e = evaluation(None)
    assert e.train is not None
    mine, _ = features(e, e.train)
    np.testing.assert_allclose(mine.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(mine.std(0), 1, atol=1e-3)


def test_fid_is_the_frechet_distance_of_two_gaussians() -> None:
    e = spoilt()
    (a, _), (b, _) = features(e, e.samples), features(e, e.train)
    s, t = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root = scipy.linalg.sqrtm(s @ t).real
    expected = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(s + t - 2 * root)
    assert value("fid", e).value == pytest.approx(expected, rel=1e-4)


def all_pairs(a: np.ndarray, b: np.ndarray) -> float:
    """The U-statistic of MMD² with the kernel (x·y/d + 1)³, by its definition."""

    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x @ y.T / x.shape[1] + 1) ** 3

    within = [kernel(x, x)[~np.eye(len(x), dtype=bool)].mean() for x in (a, b)]
    return float(sum(within) - 2 * kernel(a, b).mean())


def test_kid_is_the_unbiased_mmd_of_all_samples_and_the_whole_reference() -> None:
    e = spoilt()
    (a, _), (b, _) = features(e, e.samples), features(e, e.train)
    found = value("kid", e)
    assert found.value == pytest.approx(all_pairs(a, b), rel=1e-4)
    assert found.error is None
    assert "intervals are over seeds" in found.protocol


@pytest.mark.parametrize("block", [1, 7, 100, 1000])
def test_kid_is_the_same_whatever_the_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (torch.randn(n, 8, generator=stream(n, "features"), dtype=torch.float64) for n in (40, 103))
    monkeypatch.setattr(fidelity, "BLOCK", block)
    found = fidelity.kernel_distance(a, b, fidelity.kernel_within(b))
    assert found == pytest.approx(all_pairs(a.numpy(), b.numpy()), rel=1e-12)


def test_kid_has_no_bias_where_subsets_of_one_law_are_compared() -> None:
    pairs = torch.randn(30, 2, 100, 8, generator=stream(0, "features"), dtype=torch.float64)
    found = [fidelity.kernel_distance(a, b, fidelity.kernel_within(b)) for a, b in pairs]
    assert abs(np.mean(found)) < 3 * np.std(found) / math.sqrt(len(found))
    assert min(found) < 0 < max(found)


def test_the_inception_score_is_the_exponential_of_the_divergence_of_all_samples() -> None:
    e = spoilt()
    _, logits = features(e, e.samples)
    p = scipy.special.softmax(logits, axis=1)
    expected = np.exp(np.sum(p * (np.log(p) - np.log(p.mean(0))), axis=1).mean())
    found = value("inception_score", e)
    assert found.value == pytest.approx(expected, rel=1e-4)
    assert found.error is None
    assert "intervals are over seeds" in found.protocol


def test_the_inception_score_of_sure_classes_is_their_number() -> None:
    sure = 100 * torch.eye(10)
    assert fidelity.inception_score(sure.repeat(5, 1)) == pytest.approx(10)
    assert fidelity.inception_score(sure[:4].repeat(5, 1)) == pytest.approx(4)
    assert fidelity.inception_score(sure[:1].repeat(5, 1)) == pytest.approx(1)


@pytest.mark.parametrize("name", INFINITE)
def test_the_same_images_in_another_order_have_the_same_number(name: str) -> None:
    e = spoilt()
    again = evaluation(e.samples[torch.randperm(len(e.samples), generator=stream(1, "order"))])
    assert value(name, again).value == pytest.approx(value(name, e).value, rel=1e-9)


def test_precision_and_recall_are_shares_inside_the_others_balls() -> None:
    e = spoilt()
    (a, _), (b, _) = features(e, e.samples), features(e, e.train)

    def inside(x: np.ndarray, manifold: np.ndarray) -> float:
        radius = np.sort(scipy.spatial.distance.cdist(manifold, manifold))[:, 3]  # the 0th is itself
        return float((scipy.spatial.distance.cdist(x, manifold) <= radius).any(1).mean())

    assert value("precision", e).value == pytest.approx(inside(a, b), abs=2 / len(a))
    assert value("recall", e).value == pytest.approx(inside(b, a), abs=2 / len(b))


def test_density_and_coverage_look_at_balls_to_the_fifth_neighbour() -> None:
    e = spoilt()
    (a, _), (b, _) = features(e, e.samples), features(e, e.train)
    radius = np.sort(scipy.spatial.distance.cdist(b, b))[:, 5]
    held = scipy.spatial.distance.cdist(a, b) <= radius
    assert value("density", e).value == pytest.approx(held.sum(1).mean() / 5, abs=2 / len(a))
    assert value("coverage", e).value == pytest.approx(held.any(0).mean(), abs=2 / len(b))


def test_real_images_are_covered_as_the_protocol_says_and_a_collapsed_sampler_is_dense_but_covers_little() -> None:
    e = evaluation(None)
    real = value("coverage", evaluation(e.test))
    expected = expected_coverage(500, 1297, 5)
    assert f"k = 5, the truth gets {expected:.3f}" in real.protocol
    assert real.value == pytest.approx(expected, abs=0.03)
    assert value("density", evaluation(e.test)).value == pytest.approx(1, abs=0.1)
    made = load_classifier(digits() / "features/digits")
    ones = evaluation(e.train[made.classify(e.train) == 0][:20].repeat(25, 1, 1, 1))  # 500 copies of 20 noughts
    assert value("coverage", ones).value < 0.15
    assert value("density", ones).value > 1.2
    assert value("precision", ones).value == 1  # which does not see it


def test_class_entropy_is_one_for_equal_classes_and_zero_for_one() -> None:
    e = evaluation(None)
    classes = load_classifier(digits() / "features/digits").classify(e.test)
    equal = torch.cat([e.test[classes == k][:30] for k in range(10)])
    assert value("class_entropy", evaluation(equal)).value == pytest.approx(1)
    assert class_entropy.histogram(evaluation(equal)).tolist() == [30] * 10
    assert value("class_entropy", evaluation(e.test[classes == 3][:20])).value == 0
    halves = torch.cat([e.test[classes == k][:20] for k in (0, 1)])
    assert value("class_entropy", evaluation(halves)).value == pytest.approx(math.log(2) / math.log(10))


def test_the_oracle_beats_noisy_images_and_pure_noise_is_far_off() -> None:
    e = evaluation(None)
    real = oracle.subject(None, e.train, e.test, e.facts, 1000, stream(0, "oracle"))
    assert len(real.samples) == 500  # each test image once
    assert value("fid_ratio", evaluation(real.samples)).value < 0.5
    noise = 2 * torch.rand(500, 1, 8, 8, generator=stream(0, "noise")) - 1
    assert value("fid_ratio", evaluation(noise)).value > 10


def test_the_ratio_of_the_noisy_test_images_is_one() -> None:
    e = evaluation(None)
    same = fidelity.add_noise(e.test, 500, 17, stream(fidelity.SEED, "noisy", "digits"))
    assert value("fid_ratio", evaluation(from_levels(same, 17))).value == 1
    drawn = noisy.subject(None, e.train, e.test, e.facts, 1000, stream(0, "baseline"))
    assert value("fid_ratio", evaluation(drawn.samples)).value == pytest.approx(1, abs=0.25)  # another noise


def test_the_ratio_compares_equal_numbers_of_images() -> None:
    e = evaluation(None)
    samples = e.train[:700]
    found = value("fid_ratio", evaluation(samples))
    assert found.n == 500
    assert "first 500 samples over 500 test images + noise 0.2" in found.protocol
    assert found.value == value("fid_ratio", evaluation(samples[:500])).value
    assert value("fid_ratio", evaluation(samples[:200])).n == 200


@pytest.mark.parametrize("name", INFINITE)
def test_a_value_says_what_it_rests_on(name: str) -> None:
    found = value(name, evaluation(evaluation(None).test[:260], reference=400))
    assert found.n == 260
    assert found.protocol.startswith(
        f"{load_classifier(digits() / 'features/digits').name}; 260 samples by hand (kind exact)"
    )
    if name != "class_entropy":
        assert "reference 400 of 1297 training images" in found.protocol
    assert describe("metrics", name).samples


def test_a_value_of_unverified_files_says_so() -> None:
    e = evaluation(evaluation(None).test[:100])
    doubtful = replace(e, facts=replace(e.facts, licence=e.facts.licence + UNVERIFIED))
    assert value("fid", doubtful).protocol.endswith("training images, of unverified files")
    assert "unverified" not in value("fid", e).protocol


def test_the_same_numbers_whatever_the_global_seeds_which_are_kept() -> None:
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
        e = fresh(100)
        found.append([value(name, e) for name in METRICS])
        assert torch.equal(before[0], torch.get_rng_state())
        assert (np.random.get_state()[1].tolist(), random.getstate()) == before[1:]
    assert found[0] == found[1]


def test_images_are_looked_at_once_and_real_ones_once_for_all_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[int] = []
    extract = fidelity.extract
    monkeypatch.setattr(fidelity, "extract", lambda images, own: seen.append(len(images)) or extract(images, own))
    alone = [value(name, fresh(60)) for name in METRICS]
    for _ in range(2):  # another stage finds what the first has stored
        shared = Shared(Store(tmp_path), "digits")
        seen.clear()
        for _ in range(2):
            e = replace(fresh(60), shared=shared)
            assert [value(name, e) for name in METRICS] == alone
        # The samples of each model; the first time also the reference, and the noisy test images.
        assert sorted(seen) in ([60, 60, 60, 1297], [60, 60])
    assert seen == [60, 60]
    assert capfd.readouterr() == ("", "")


def test_a_damaged_reference_changes_no_number(tmp_path: Path) -> None:
    expected = value("fid", fresh(60))
    for file in ("mean.npy", "features.npy"):
        value("fid", replace(fresh(60), shared=Shared(Store(tmp_path), "digits")))
        (path,) = tmp_path.glob(f"*/done/{file}")
        path.write_bytes(path.read_bytes()[:-8] + bytes(8))
        assert value("fid", replace(fresh(60), shared=Shared(Store(tmp_path), "digits"))) == expected


@pytest.mark.parametrize("count", [10, 300, 1234])
def test_the_formulas_are_torch_fidelitys(count: int) -> None:
    """Bit for bit, but for KID, which it computes of one subset as large as both sides."""
    theirs = torch_fidelity()
    a, b = (torch.randn(n, 64, generator=stream(n, "features"), dtype=torch.float64) for n in (count, 1297))
    statistics = [theirs.metric_fid.fid_features_to_statistics(x) for x in (a, b)]
    fid = theirs.metric_fid.fid_statistics_to_metric(*statistics, False)[theirs.KEY_METRIC_FID]
    assert fidelity.frechet_distance(fidelity.moments(a), fidelity.moments(b)) == fid
    options = {"kid_subsets": 1, "kid_subset_size": count, "rng_seed": 0, "verbose": False}
    kid = theirs.metric_kid.kid_features_to_metric(a, b[:count], **options)[theirs.KEY_METRIC_KID_MEAN]
    within = fidelity.kernel_within(b[:count])
    assert fidelity.kernel_distance(a, b[:count], within) == pytest.approx(kid, rel=1e-9, abs=1e-12)
    score = theirs.metric_isc.isc_features_to_metric(a[:, :10], 1, False)[theirs.KEY_METRIC_ISC_MEAN]
    assert fidelity.inception_score(a[:, :10]) == score


@pytest.mark.parametrize("name", INFINITE)
def test_what_cannot_be_computed_says_why(name: str) -> None:
    compute = load("metrics", name).compute
    e = evaluation(evaluation(None).test[:50])
    points = Evaluation(Subject(None, torch.zeros(50, 2)), torch.zeros(50, 2), None, gaussian_facts(2), e.settings)
    unlabelled = replace(e, facts=replace(e.facts, classes=[]))
    broken = e.samples.clone()
    broken[7] = float("nan")
    for case, reason in [
        (points, "the data are no images"),
        (unlabelled, "the images have no labels"),
        (replace(e, features=None), "there is no reference classifier"),
        (evaluation(None), "there are no samples"),
        (evaluation(broken), "1 of 50 samples are not finite"),
        (evaluation(e.samples[:9]), "needs 10 samples, has 9"),
        *([(evaluation(e.samples, reference=9), "needs 10 training images")] if name != "class_entropy" else []),
    ]:
        with pytest.raises(Unavailable, match=reason):
            compute(case)

"""The joint energy model is a classifier and `mle` at once: with either term gone it is the other.

log p(x, y) = f_y(x) − log Z = log p(y|x) + log p(x), so that with w = 1 the loss is the contrast of f_y on data with
E(x) on negatives.
"""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ebmbench.config.registry import load
from ebmbench.core.contrastive import contrastive
from ebmbench.core.dataset import Facts
from ebmbench.core.meter import Meter
from ebmbench.core.streams import draws, stream
from ebmbench.methods import jem, mle
from ebmbench.models.common.classifier import Classifier
from ebmbench.samplers import mala
from tests.conftest import gaussian_facts
from tests.identities.networks import events, gradient

LABELS = torch.tensor([0, 2, 1, 1, 0, 2])
X, NEGATIVES = events(6, 2), events(9, 2, seed=1)
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def labelled(classes: int) -> Facts:
    return replace(gaussian_facts(2), classes=list("abc")[:classes])


def classifier(classes: int = 3) -> Classifier:
    module = load("models", "mlp")
    settings = module.Settings(width=8, layers=2, gain=1.0)
    made: Classifier = module.Model.classifier(settings, labelled(classes)).initialise(stream(0, "weights")).double()
    return made


def step(module, energy: Classifier, x: Tensor, *labels: Tensor, **settings) -> tuple[Tensor, dict[str, float]]:
    """The gradient of a first training step, and what it reports."""
    chosen = module.Settings(sampler=mala.Settings(steps=4, step_size=0.1), **settings)
    method = module.Method(chosen, labelled(3)).double().initialise(draws(0, "start"), energy)
    meter = Meter(energy)
    return gradient(method(meter, x, draws(0, 0), *labels), energy), method.health()


def test_with_no_weight_on_the_energy_it_is_a_plain_classifier() -> None:
    energy = classifier()
    found, columns = step(jem, energy, X, LABELS, weight=0.0)
    torch.testing.assert_close(found, gradient(cross_entropy(energy.logits(X), LABELS), energy), **CLOSE)
    assert list(columns) == ["cross_entropy", "batch_accuracy"]
    assert columns["batch_accuracy"] == pytest.approx(
        float((energy.logits(X).argmax(1) == LABELS).double().mean()), rel=1e-6
    )


@pytest.mark.parametrize(("weight", "penalty"), [(1.0, 0.0), (0.3, 0.0), (2.0, 0.1)])
def test_its_gradient_is_the_sum_of_a_classifiers_and_of_mles(weight: float, penalty: float) -> None:
    energy = classifier()
    loss, parts = jem.joint_likelihood(energy.logits(torch.cat([X, NEGATIVES])), LABELS, weight, penalty)
    contrast, gap = contrastive(energy, X, NEGATIVES, penalty)
    expected = gradient(cross_entropy(energy.logits(X), LABELS) + weight * contrast, energy)
    torch.testing.assert_close(gradient(loss, energy), expected, **CLOSE)
    torch.testing.assert_close(parts["energy_gap"], gap, **CLOSE)


def test_it_is_the_contrast_of_the_joint_energy_on_data_with_the_energy_of_chains() -> None:
    energy = classifier()
    loss, _ = jem.joint_likelihood(energy.logits(torch.cat([X, NEGATIVES])), LABELS, weight=1.0)
    joint = energy.of_classes(LABELS)(X).mean() - energy(NEGATIVES).mean()
    torch.testing.assert_close(loss, joint, **CLOSE)


@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_with_one_class_it_is_mle_whose_chains_it_shares(penalty: float) -> None:
    energy = classifier(1)
    settings = {"buffer": 40, "rejuvenation": 0.3, "energy_penalty": penalty}
    (ours, columns), (theirs, same) = (
        step(jem, energy, X, torch.zeros(6, dtype=torch.int64), **settings),
        step(mle, energy, X, **settings),
    )
    torch.testing.assert_close(ours, theirs, **CLOSE)
    assert {name: columns[name] for name in same} == pytest.approx(same, rel=1e-12)

"""Sums of energies: the turn that is chosen, and KL of the products against closed forms."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Density, Mixture
from ebmbench.experiment.composition import choose_turn, compose, composed_divergence, turn
from ebmbench.experiment.pictures import draw_dataset, draw_model
from ebmbench.metrics.common.evaluation import Evaluation, Subject

CORNER = Mixture(torch.tensor([[-1.0, 0.0], [2.0, 0.0]]), torch.tensor([0.25, 0.75]), 0.6)


def facts_of(density: Density) -> Facts:
    x = density.sample(4000, stream(0, "facts")).numpy()
    return Facts.of("made_up", x, x, licence="", hash="")


def judge(density: Density, model: Density) -> Evaluation:
    subject = Subject(lambda x: 5.0 - model.log_prob(x), None)
    return Evaluation(subject, torch.zeros(4, 2), density, facts_of(density), Metrics(cells=256))


@pytest.mark.parametrize(
    ("name", "angle"),
    [("unbalanced", 180.0), ("two_moons", 45.0), ("checkerboard", 45.0), ("eight_gaussians", 22.5)],
)
def test_the_turn_gives_something_new_on_each_toy(name: str, angle: float) -> None:
    density = load("data", name).density()
    assert choose_turn(density, facts_of(density)) == angle


def test_what_no_turn_changes_has_none() -> None:
    ball = Mixture(torch.tensor([[0.5, 1.0]]), torch.ones(1), 0.4)
    assert choose_turn(ball, facts_of(ball)) is None
    assert "turn" not in draw_dataset(facts_of(ball), None, ball)


def test_a_turn_is_about_the_middle_of_the_modes() -> None:
    x = torch.tensor([[1.5, 0.0], [0.5, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(turn(x, CORNER, 180.0), torch.tensor([[-0.5, 0.0], [0.5, -2.0]]).double())
    quarter = turn(x, CORNER, 90.0)
    torch.testing.assert_close(quarter[0], torch.tensor([0.5, 1.0]).double())
    torch.testing.assert_close(turn(quarter, CORNER, -90.0), x)


def test_turned_by_half_the_modes_of_unbalanced_data_weigh_the_same() -> None:
    density = load("data", "unbalanced").density()
    near = torch.tensor([[-5.0, -5.0], [5.0, 5.0]], dtype=torch.float64)
    both = compose(density.log_prob, density, 180.0, near)
    assert both[0].item() == pytest.approx(both[1].item(), abs=1e-12)


def product_of(mixture: Mixture) -> Mixture:
    """p(x)·p(Rx) of a mixture turned by half, normalised: each pair of modes gives one between them."""
    turned = turn(mixture.centres, mixture, 180.0)
    pairs = [
        ((a + b) / 2, v * w * math.exp(-float((a - b).square().sum()) / (4 * mixture.deviation**2)))
        for a, v in zip(mixture.centres, mixture.weights.tolist(), strict=True)
        for b, w in zip(turned, mixture.weights.tolist(), strict=True)
    ]
    centres, weights = torch.stack([pair[0] for pair in pairs]), torch.tensor([pair[1] for pair in pairs])
    return Mixture(centres, weights, mixture.deviation / math.sqrt(2))


def test_the_kl_of_products_of_mixtures_is_that_of_their_closed_forms() -> None:
    model = replace_weights(CORNER, [0.5, 0.5], 0.8)
    e = judge(CORNER, model)
    found, log_z = composed_divergence(e, model.log_prob, 180.0)
    p, q = product_of(CORNER), product_of(model)
    points = e.grid.points
    log_p = p.log_prob(points)
    exact = float((log_p.exp() * (log_p - q.log_prob(points))).sum()) * math.exp(e.grid.log_cell)
    assert found == pytest.approx(exact, rel=1e-6)
    assert exact > 0.05
    x = torch.randn(50, 2, generator=stream(0, "x"), dtype=torch.float64)
    torch.testing.assert_close(compose(model.log_prob, CORNER, 180.0, x) - log_z, q.log_prob(x), rtol=0, atol=1e-6)


def replace_weights(mixture: Mixture, weights: list[float], deviation: float) -> Mixture:
    return Mixture(mixture.centres, torch.tensor(weights), deviation)


def test_the_truth_composed_has_no_divergence_and_is_what_the_picture_shows() -> None:
    e = judge(CORNER, CORNER)
    shared, drawn = draw_dataset(e.facts, None, CORNER), draw_model({"": e}, "seed=0", {})
    assert float(shared["turn"]) == 180.0
    assert abs(float(drawn["composed_kl:seed=0"])) < 1e-9
    np.testing.assert_allclose(drawn["composed:seed=0"], shared["composed_truth"], rtol=1e-3, atol=1e-9)
    cell = float((shared["x"][1] - shared["x"][0]) * (shared["y"][1] - shared["y"][0]))
    assert float(shared["composed_truth"].sum()) * cell == pytest.approx(1, abs=1e-4)


def test_without_a_density_of_either_side_there_is_no_composition() -> None:
    e = judge(CORNER, CORNER)
    score_only: Subject = Subject(None, None, score=lambda x: -x)
    assert not draw_model({"": replace(e, subject=score_only)}, "a", {})
    assert set(draw_model({"": replace(e, density=None)}, "a", {})) == {"model:a"}

    def unbounded(x: Tensor) -> Tensor:
        return torch.zeros(len(x)).double()

    assert not draw_model({"": replace(e, subject=Subject(unbounded, None))}, "a", {})

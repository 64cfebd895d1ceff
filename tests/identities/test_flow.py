"""The probability-flow ODE: exact on Gaussians, a smoothed mixture's density with mass 1, and one for all forms."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import MultivariateNormal

from ebmbench.config.registry import load
from ebmbench.config.sections import Metrics as Settings
from ebmbench.config.sections import Training
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import energy_score_and_curvature
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.experiment.judge import _at_snapshot, subject_of
from ebmbench.experiment.pictures import draw_model
from ebmbench.metrics.common.evaluation import MISCALIBRATED, Evaluation, Subject, Unavailable
from ebmbench.metrics.common.flow import PROBES, TOLERANCE, Flow
from ebmbench.metrics.common.quadrature import coarsest, refine, tabulate
from ebmbench.models.common.noise_levels import ScoreNetwork
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trained import Trained
from ebmbench.training.trained import load as load_run
from ebmbench.training.trainer import Trainer
from ebmbench.workspace.cell import snapshots
from tests.conftest import gaussian_facts
from tests.contracts.examples import Ladder
from tests.identities.networks import events, network


class Normal:
    """A Gaussian with any covariance, as a `Density`."""

    def __init__(self, mean: Tensor, covariance: Tensor) -> None:
        self.mean, self.covariance = mean, covariance

    def log_prob(self, x: Tensor) -> Tensor:
        return MultivariateNormal(self.mean, self.covariance).log_prob(x)

    def smoothed(self, sigma: float) -> "Normal":
        return Normal(self.mean, self.covariance + sigma**2 * torch.eye(len(self.mean), dtype=torch.float64))


def anisotropic(d: int) -> tuple[Any, Facts]:
    """A Gaussian whose deviations differ tenfold, turned, off the origin; and its facts."""
    turn, _ = torch.linalg.qr(torch.randn(d, d, generator=stream(d, "turn"), dtype=torch.float64))
    deviations = torch.logspace(-1, 0, d, dtype=torch.float64)
    mean, covariance = torch.linspace(-2, 1, d, dtype=torch.float64), turn * deviations.square() @ turn.mT
    scale = math.sqrt(float(covariance.trace()) / d)
    facts = Facts("normal", [d], 9, 9, mean.tolist(), covariance.tolist(), scale, "none", "none")
    return Normal(mean, covariance), facts


@pytest.mark.parametrize("d", [1, 2, 10])
def test_the_flow_of_a_gaussian_has_its_exact_log_density(d: int) -> None:
    truth, facts = anisotropic(d)
    flow = Flow(Ladder(truth), 0.01, 3.0, facts)
    x = truth.mean + events(50, d)
    aim = truth.smoothed(0.01)
    torch.testing.assert_close(flow.log_density(x, 48), aim.log_prob(x), rtol=1e-6, atol=1e-5)
    near = truth.mean + 0.1 * events(50, d)
    found = flow.resolve(near)
    assert found.fine
    assert found.steps < 48
    assert (flow.log_density(near, found.steps) - aim.log_prob(near)).abs().mean() < 2 * TOLERANCE


def eight_gaussians() -> tuple[Mixture, Facts]:
    truth: Mixture = load("data", "eight_gaussians").density()
    scale = math.sqrt(2 + truth.deviation**2)
    return truth, gaussian_facts(2, scale)


@pytest.mark.parametrize(("widest", "error"), [(3.0, 1e-2), (30.0, 1e-3)])
def test_the_flow_of_a_mixture_has_the_smoothed_mixtures_log_density_and_mass_one(widest: float, error: float) -> None:
    """The Gaussian at the end is not the mixture's: the wider the widest level, the less that matters."""
    truth, facts = eight_gaussians()
    flow = Flow(Ladder(truth), 0.05, widest * facts.scale, facts)
    test, aim = truth.sample(256, stream(0, "test")).double(), truth.smoothed(0.05)
    e = Evaluation(Subject(None, None, aim, flow=flow), test, truth, facts, Settings(cells=256))
    assert (e.flow_log_density(test) - aim.log_prob(test)).abs().mean() < error
    assert e.grid.mass == pytest.approx(1, abs=5e-3)
    assert e.grid.protocol.startswith("midpoint rule, 64² cells")
    assert abs(load("metrics", "kl_target").compute(e).value) < error
    expected = float((truth.log_prob(e.grid.points) - aim.log_prob(e.grid.points)) @ e.log_truth.exp())
    assert load("metrics", "kl").compute(e).value == pytest.approx(expected * math.exp(e.grid.log_cell), abs=error)


def test_hutchinsons_estimator_agrees_with_the_exact_divergence_in_the_mean() -> None:
    truth, facts = anisotropic(12)
    flow = Flow(Ladder(truth), 0.1, 3.0, facts)
    assert not flow.exact
    x = truth.mean + events(300, 12)
    errors = flow.estimates(x, 12) - truth.smoothed(0.1).log_prob(x)
    assert errors.shape == (PROBES, 300)
    spread = float(errors.std()) / math.sqrt(errors.numel())
    assert spread > 0.01  # it is an estimate
    assert abs(float(errors.mean())) < 4 * spread


class ScoreOnly(ScoreNetwork):
    """The score of an energy network as a network that gives a vector: −σ∇E(x, σ) of u and t."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, self.centre, self.scale = model, model.centre, model.scale

    def forward(self, u: Tensor, t: Tensor) -> Tensor:
        sigma = self.scale * (2 * t).exp()
        x = self.centre + u * (self.scale.square() + sigma.square()).sqrt()[:, None]
        (gradient,) = torch.autograd.grad(self.model.given(sigma)(x).sum(), x, create_graph=True)
        return -sigma[:, None] * gradient


def test_an_energy_and_its_score_alone_have_the_same_density() -> None:
    energy, x = network(2, "noise_mlp", scale=1.5), events(40, 2)
    facts = gaussian_facts(2, 1.5)
    flows = [Flow(one, 0.05, 4.0, facts) for one in (energy, ScoreOnly(energy))]
    torch.testing.assert_close(*(flow.log_density(x, 12) for flow in flows), rtol=0, atol=1e-10)


def test_the_curvature_of_a_level_is_autograds() -> None:
    level, x, v = network(3, "noise_mlp").given(0.3), events(7, 3), events(2, 7, 3, seed=1)
    ours, theirs = (energy_score_and_curvature(one, x, v) for one in (level, level.__call__))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_the_value_of_an_event_does_not_depend_on_others() -> None:
    flow, x = Flow(network(2, "noise_mlp"), 0.05, 4.0, gaussian_facts(2)), events(300, 2)
    torch.testing.assert_close(flow.log_density(x, 6)[280:290], flow.log_density(x[280:290], 6), rtol=0, atol=1e-12)


@cache
def trained(model: str) -> tuple[Trained, Tensor]:
    """A ladder after some seconds of training."""
    x = load("data", "eight_gaussians").density().sample(5000, stream(0, "data")).float()
    facts = Facts.of("eight_gaussians", x.numpy(), x.numpy(), licence="", hash="")
    settings = load("methods", "ncsn").Settings(model=model)
    job = Job("ncsn", settings, {}, 0, Training(budget=600_000, rows=1), load("models", model).Settings(), facts)
    trainer = Trainer(job, x)
    while trainer.progress < 1:
        trainer.advance()
    trainer.finish()
    made: nn.Module = trainer.model
    return Trained(made, job.header()), x


@cache
def evaluation(model: str) -> Evaluation:
    """The same, judged."""
    found, x = trained(model)
    truth = load("data", "eight_gaussians").density()
    return Evaluation(subject_of(found), x[:500], truth, found.facts, Settings(cells=256))


@pytest.mark.parametrize("model", ["noise_mlp", "score_mlp"])
def test_a_trained_ladder_has_mass_one_and_is_judged_and_drawn_by_its_flow(model: str) -> None:
    e = evaluation(model)
    assert e.grid.mass == pytest.approx(1, abs=5e-3)
    gap, kl = (load("metrics", name).compute(e) for name in ("oracle_gap", "kl"))
    assert gap.value == pytest.approx(kl.value, abs=4 * gap.error)
    assert "probability-flow" in kl.protocol
    assert "probability-flow" in gap.protocol
    likelihoods = [load("metrics", name).compute(e).value for name in ("log_likelihood", "flow_likelihood")]
    assert likelihoods[1] == pytest.approx(float(e.test_log_q[:200].mean()), abs=1e-9)
    assert likelihoods[0] == pytest.approx(float(e.test_log_q.mean()))
    picture = draw_model({"": e}, "run", {})["model:run"]
    window = torch.linspace(-3.2, 3.2, 128).double() * e.facts.scale
    middle = torch.tensor([[window[60] + e.facts.mean[0], window[90] + e.facts.mean[1]]])
    assert picture[90, 60] == pytest.approx(float(e.flow_log_density(middle).exp()), rel=0.1)
    assert picture.sum() * float(window[1] - window[0]) ** 2 == pytest.approx(1, abs=0.03)


def test_the_narrowest_level_alone_is_another_number() -> None:
    e = evaluation("noise_mlp")
    plain = replace(e, subject=Subject(e.subject.energy, None))
    narrowest = load("metrics", "kl_narrowest").compute(e).value
    assert narrowest == load("metrics", "kl").compute(plain).value
    assert narrowest > 1.2 * load("metrics", "kl").compute(e).value
    with pytest.raises(Unavailable, match="no noise levels"):
        load("metrics", "kl_narrowest").compute(plain)


def test_a_learning_curve_judges_the_flow_of_each_snapshot(tmp_path: Path) -> None:
    found, x = trained("noise_mlp")
    training = Training(budget=40_000, rows=10, snapshots=[0.5])
    job = Job("ncsn", found.settings, {}, 0, training, load("models", "noise_mlp").Settings(), found.facts)
    train(job, x, tmp_path / "work", tmp_path)
    (file,) = snapshots(tmp_path)
    end = Evaluation(subject_of(load_run(tmp_path)), x[:20], None, found.facts, Settings())
    early, own = _at_snapshot(file, tmp_path, end).flow, subject_of(load_run(file)).flow
    assert own is not None
    assert torch.equal(early.log_density(x[:20], 6), own.log_density(x[:20], 6))
    assert not torch.equal(early.log_density(x[:20], 6), end.flow.log_density(x[:20], 6))


def test_float32_is_precise_enough() -> None:
    found, x = trained("noise_mlp")
    flow = subject_of(found).flow
    assert flow is not None
    assert flow.dtype == torch.float32
    double = Flow(found.network, flow.narrowest, flow.widest, flow.facts)  # in float64 since `subject_of`
    difference = flow.log_density(x[:500], 12) - double.log_density(x[:500], 12)
    assert difference.abs().mean() < 1e-5
    assert difference.abs().max() < 1e-3


def test_a_ladder_of_one_level_has_no_flow() -> None:
    found, _ = trained("noise_mlp")
    one = found.settings.sampler.model_copy(update={"levels": 1})
    header = {**found.header, "settings": {**found.header["settings"], "sampler": one.model_dump()}}
    assert subject_of(Trained(found.network, header)).flow is None


class Wild:
    """A score that changes faster in σ than any number of steps can follow."""

    def given(self, sigma: float) -> "Wild":
        self.sigma = sigma
        return self

    def score_and_curvature(self, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
        return 1e3 * torch.sin(1e5 * x / self.sigma), torch.zeros(directions.shape[:2], dtype=x.dtype)


class Leaky(Wild):
    """One whose curvature does not belong to its score, so that the mass is not 1."""

    def score_and_curvature(self, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
        return -x / (1 + self.sigma**2), torch.zeros(directions.shape[:2], dtype=x.dtype)


@pytest.mark.parametrize(("network", "reason"), [(Wild(), "is not solved"), (Leaky(), r"mass .* not 1")])
def test_a_flow_without_a_density_has_no_value_and_a_reason(network: Any, reason: str) -> None:
    flow, truth = Flow(network, 0.05, 3.0, gaussian_facts(2)), Mixture(torch.zeros(1, 2), torch.ones(1), 1.0)
    e = Evaluation(Subject(None, None, flow=flow), events(100, 2), truth, gaussian_facts(2), Settings(cells=64))
    for metric in ("kl", "log_likelihood"):
        with pytest.raises(Unavailable, match=reason) as raised:
            load("metrics", metric).compute(e)
        assert raised.value.fault == MISCALIBRATED


def test_the_grid_is_as_coarse_as_the_truth_allows() -> None:
    for deviation, cells in ((1.0, 64), (0.06, 128), (0.03, 256)):  # a cell may be as wide as a mode
        narrow = Mixture(torch.tensor([[0.013, 0.021]]), torch.ones(1), deviation)
        assert coarsest(narrow.log_prob, gaussian_facts(2), 256) == cells


def test_a_finer_grid_asks_only_where_the_mass_is_and_finds_what_the_coarse_one_missed() -> None:
    spike = Mixture(torch.tensor([[0.0, 0.0], [0.1, 0.2]]), torch.tensor([0.9, 0.1]), 0.12)
    asked: list[int] = []

    def log_prob(x: Tensor) -> Tensor:
        asked.append(len(x))
        return spike.log_prob(x)

    coarse = tabulate(log_prob, gaussian_facts(2), 4.0, 32)
    assert abs(coarse.mass - 1) > 5e-3
    fine = refine(log_prob, coarse)
    assert fine.mass == pytest.approx(1, abs=1e-4)
    assert asked[1] < 64**2 / 5
    whole = tabulate(log_prob, gaussian_facts(2), 4.0, 64)
    torch.testing.assert_close(fine.points, whole.points, rtol=0, atol=1e-12)
    near = whole.log_q > whole.log_q.max() - 8
    assert torch.equal(fine.log_q[near], whole.log_q[near])
    inside = (whole.points.abs() < 3.5).all(1)
    assert (fine.log_q - whole.log_q)[inside].abs().max() < 0.1 * whole.log_q.abs().max()


def test_annealing_does_not_judge_the_narrowest_level_in_place_of_a_ladder() -> None:
    truth = Mixture(torch.zeros(1, 2), torch.ones(1), 1.0)
    flow = Flow(Ladder(truth), 0.01, 3.0, gaussian_facts(2))
    subject = Subject(lambda x: -truth.log_prob(x), truth.sample(100, stream(0, "model")), flow=flow)
    e = Evaluation(subject, truth.sample(100, stream(0, "test")), truth, gaussian_facts(2), Settings())
    with pytest.raises(Unavailable, match="flow_likelihood"):
        load("metrics", "ais_optimistic").compute(e)

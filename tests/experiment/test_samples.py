"""Kinds of samples: each is what its name says, and a film ends where its samples are."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ebmbench.config.registry import load
from ebmbench.config.sections import Divergence, Metrics, Sampling, Training
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.experiment.pictures import draw_dataset, draw_model
from ebmbench.experiment.recording import CHAINS, DRAWS, POINTS, TRACED, Film, Trace, run_watched
from ebmbench.experiment.samples import PER_CLASS, choose_sampler, draw, draw_classes, make_film
from ebmbench.metrics.common.evaluation import Evaluation, Subject
from ebmbench.models import tiny
from ebmbench.samplers import annealed_langevin, hmc, langevin, mala
from ebmbench.samplers.common.chain import moments
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trained import Trained
from ebmbench.training.trained import load as load_run
from ebmbench.training.trainer import Trainer
from ebmbench.workspace.files import write_json
from tests.images import image_facts, images

LANGEVIN = {"kind": "langevin", "steps": 4, "step_size": 0.1, "noise_std": 0.01}
SAMPLING = Sampling(
    chains=12, kinds=["long"], own=True, short=6, long=30, sampler={"kind": "langevin", "step_size": 0.01}
)
DATA = images(100)


def trained(method: str, **settings: Any) -> Trained:
    facts, module = image_facts(), load("methods", method)
    chosen_settings = module.Settings(**settings)
    models = load("models", chosen_settings.model)
    training = Training(budget=3000, batch_size=8, rows=2)
    trainer = Trainer(Job(method, chosen_settings, {}, 0, training, models.Settings(width=8), facts), DATA)
    while trainer.progress < 1:
        trainer.advance()
    trainer.finish()
    buffer = getattr(trainer.method, "buffer", None)
    chains = buffer.chains if buffer is not None and len(buffer.chains) else None
    return Trained(trainer.model, trainer.job.header(), chains)


@pytest.fixture(scope="module")
def mle() -> Trained:
    return trained("mle", model="tiny", sampler=LANGEVIN, buffer=20)


def test_buffer_samples_are_training_chains(mle: Trained) -> None:
    drawn = draw(mle, "buffer", SAMPLING, DATA)
    assert mle.chains is not None
    assert len(drawn.x) == 12
    assert all((mle.chains == one).flatten(1).all(1).any() for one in drawn.x)


def test_short_and_long_runs_take_the_steps_they_should_by_the_sampler_of_training(mle: Trained) -> None:
    short, long = (choose_sampler(mle, kind, SAMPLING) for kind in ("short", "long"))
    assert (short.steps, long.steps) == (6, 30)
    assert short.model_copy(update={"steps": 4}) == mle.settings.sampler
    assert draw(mle, "short", SAMPLING, DATA).sampler == "langevin, 6 steps"


def test_by_default_the_suites_sampler_is_used(mle: Trained) -> None:
    plain = Sampling(chains=12, sampler={"kind": "langevin", "steps": 9, "step_size": 0.01})
    assert choose_sampler(mle, "long", plain).steps == 9
    assert choose_sampler(mle, "long", plain).step_size == 0.01


def test_only_methods_whose_chains_start_at_data_have_samples_from_data(mle: Trained) -> None:
    assert draw(mle, "data", SAMPLING, DATA) is None
    cd = trained("cd", model="tiny", sampler=LANGEVIN)
    assert draw(cd, "buffer", SAMPLING, DATA) is None
    frozen = SAMPLING.model_copy(update={"own": False, "sampler": {**LANGEVIN, "step_size": 1e-12, "noise_std": 0.0}})
    still = draw(cd, "data", frozen, DATA)
    assert all((one == DATA).flatten(1).all(1).any() for one in still.x)


def test_more_samples_than_chains_in_the_buffer_are_refused(mle: Trained) -> None:
    with pytest.raises(UserError, match=r"sampling\.chains: found 21 for a buffer of 20 chains"):
        draw(mle, "buffer", SAMPLING.model_copy(update={"chains": 21}), DATA)


def test_a_long_run_by_a_methods_own_sampler_must_say_how_long(mle: Trained) -> None:
    with pytest.raises(UserError, match=r"sampling\.long: found null with own: true"):
        choose_sampler(mle, "long", SAMPLING.model_copy(update={"long": None}))


@pytest.mark.parametrize(
    ("method", "settings"),
    [("mle", {"init": "noise"}), ("mle", {"init": "data"}), ("cd", {}), ("dsm", {})],
    ids=["from noise", "from data", "cd", "dsm"],
)
def test_a_method_without_persistent_chains_has_no_buffer(
    tmp_path: Path, method: str, settings: dict[str, Any]
) -> None:
    extra = {} if method == "dsm" else {"sampler": LANGEVIN}
    whole = load("methods", method).Settings(model="tiny", **extra, **settings)
    job = Job(method, whole, {}, 0, Training(budget=500, batch_size=4, rows=1), tiny.Settings(width=2), image_facts())
    train(job, DATA, tmp_path, tmp_path)
    assert load_run(tmp_path).chains is None


def test_chains_that_never_began_are_no_samples(tmp_path: Path) -> None:
    """PCD begins chains when it first draws them: after a few steps most of a large buffer is still empty."""
    settings = load("methods", "cd").Settings(model="tiny", sampler=LANGEVIN, persistent=True, chains=500)
    training = Training(budget=300, batch_size=4, rows=1, divergence=Divergence(flat=0))  # it has no time to learn
    job = Job("cd", settings, {}, 0, training, tiny.Settings(width=2), image_facts())
    train(job, DATA, tmp_path, tmp_path)
    begun = load_run(tmp_path).chains
    assert 0 < len(begun) < 500
    assert bool((begun != 0).flatten(1).any(1).all())


def test_a_film_starts_at_the_start_and_ends_at_the_samples(mle: Trained) -> None:
    drawn = draw(mle, "long", SAMPLING, DATA)
    assert drawn.film.steps[0] == 0
    assert drawn.film.steps[-1] == 30
    assert torch.equal(drawn.film.stacked()[:, -1], drawn.x[:8])
    assert drawn.film.stacked().shape[:2] == (8, len(drawn.film.steps))


def test_ncsn_is_sampled_by_its_own_ladder_and_says_that_it_denoised() -> None:
    ladder = {"kind": "annealed_langevin", "steps": 2, "levels": 5, "sigma_max": 1.0, "sigma_min": 0.1, "denoise": True}
    ncsn = trained("ncsn", model="unet", sampler=ladder)
    assert draw(ncsn, "short", SAMPLING, DATA).sampler == "annealed_langevin, 10 steps, denoised"
    assert choose_sampler(ncsn, "long", SAMPLING).steps == 2 * 5  # five times as long as the short run


class Level:
    """A score that depends on the level, so that a wrong ladder shows."""

    def __init__(self, sigma: torch.Tensor) -> None:
        self.sigma = sigma

    def score(self, x: torch.Tensor, create_graph: bool = False) -> torch.Tensor:
        return -x / (1 + self.sigma.reshape(-1, *[1] * (x.dim() - 1)) ** 2)


class Levels:
    def given(self, sigma: torch.Tensor) -> Level:
        return Level(sigma)


@pytest.mark.parametrize(
    ("sampler", "energy"),
    [
        (langevin.Settings(steps=47, step_size=0.1), lambda x: 0.5 * x.flatten(1).square().sum(1)),
        (mala.Settings(steps=47, step_size=0.1), lambda x: 0.5 * x.flatten(1).square().sum(1)),
        (hmc.Settings(steps=47, step_size=0.1), lambda x: 0.5 * x.flatten(1).square().sum(1)),
        (annealed_langevin.Settings(steps=3, levels=17, sigma_max=2.0, sigma_min=0.1, denoise=True), Levels()),
    ],
    ids=["langevin", "mala", "hmc", "annealed"],
)
def test_a_run_that_is_watched_ends_where_the_whole_run_ends(sampler: Any, energy: Any) -> None:
    x = images(9).double()
    whole = sampler.run(energy, x, stream(0, "chain"))
    film, trace = Film(), Trace(["sum"], lambda x: x.flatten(1).sum(1, keepdim=True))
    chain = run_watched(sampler, energy, x, stream(0, "chain"), film, trace)
    # A ladder's parts round their levels anew; all others are the same to the last bit.
    assert torch.equal(chain.x, whole.x) if sampler.alike else torch.allclose(chain.x, whole.x, rtol=1e-10)
    assert film.steps[-1] == sampler.total_steps
    assert len(film.steps) <= 12
    assert len(trace.rows) == (24 if sampler.alike else 0)
    if sampler.alike:
        for name, value in whole.diagnostics.items():
            torch.testing.assert_close(chain.diagnostics[name].double(), value.double(), rtol=1e-5, atol=0)
        assert torch.equal(trace.stacked()[:, -1], whole.x.flatten(1).sum(1, keepdim=True))


def test_a_film_is_of_images_or_of_more_points_in_the_plane_and_of_nothing_else() -> None:
    planar, three = (Facts.of("made_up", x, x, licence="", hash="") for x in (np.eye(9, 2), np.eye(9, 3)))
    assert make_film(image_facts()).chains == CHAINS
    assert make_film(planar).chains == POINTS
    assert make_film(three) is None


def test_the_picture_of_a_run_in_the_plane_has_its_way_and_that_of_unknown_data_their_points(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    facts = Facts.of("made_up", x, x, licence="", hash="")
    np.save(tmp_path / "test.npy", x)
    write_json(tmp_path / "facts.json", asdict(facts))
    assert np.array_equal(draw_dataset(facts, tmp_path, None)["data"], x)
    known = draw_dataset(facts, tmp_path, load("data", "two_moons").density())
    assert "truth" in known
    assert "data" not in known
    subject = Evaluation(Subject(None, torch.from_numpy(x)), torch.from_numpy(x), None, facts, Metrics(cells=16))
    films = {"long": x.reshape(10, 4, 2), "long_steps": np.array([0, 1, 2, 5])}
    picture = draw_model({"long": subject}, "run", films)
    assert np.allclose(picture["path:run"], films["long"], atol=0.01)
    assert picture["path:run"].dtype == np.float16
    assert picture["path_steps:run"].tolist() == [0, 1, 2, 5]
    assert "path:run" not in draw_model({"long": subject}, "run", {})


@pytest.mark.parametrize(("total", "draws"), [(1, 1), (20, 10), (63, 8), (200, 25), (1000, DRAWS), (10_001, DRAWS)])
def test_a_trace_is_of_even_moments_of_the_second_half(total: int, draws: int) -> None:
    ends = Trace.ends(total)
    assert len(ends) == draws
    assert ends[-1] == total
    assert ends[0] > total // 2
    assert len({b - a for a, b in zip(ends, ends[1:], strict=False)}) <= 1


def test_only_long_runs_are_traced_by_their_energy_and_some_projections(mle: Trained) -> None:
    drawn = {kind: draw(mle, kind, SAMPLING, DATA) for kind in ("short", "long")}
    assert drawn["short"].trace is None
    trace = drawn["long"].trace
    assert trace.stacked().shape == (min(TRACED, 12), 15, 9)
    assert list(trace.names) == ["energy", *(f"projection {k}" for k in range(1, 9))]
    torch.testing.assert_close(trace.stacked()[:, -1, 0], mle.energy(drawn["long"].x))


def test_moments_are_round_and_add_up() -> None:
    for total in (1, 2, 7, 100, 1000, 12_345):
        lengths = list(moments(total, 11))
        assert sum(lengths) == total
        assert min(lengths) > 0
        assert len(lengths) <= 11


def test_samples_of_a_class_are_of_chains_that_were_steered_there() -> None:
    """The classifier is sure of each row's class after a long run, and is not at its start."""
    facts, data = image_facts(), images(100)
    settings = load("methods", "jem").Settings(model="tiny", sampler=LANGEVIN, buffer=20)
    job = Job("jem", settings, {}, 0, Training(budget=3000, batch_size=8, rows=2), tiny.Settings(width=4), facts)
    trainer = Trainer(job, data, (data.flatten(1).mean(1) > -0.7).long())
    while trainer.progress < 1:
        trainer.advance()
    model = Trained(trainer.model, job.header())
    steered = langevin.Settings(steps=1, step_size=20.0, noise_std=0.0, box=1.0).model_dump()
    sampling = Sampling(chains=12, kinds=["long"], long=60, sampler=steered)
    classes = draw_classes(model, sampling)
    assert classes is not None
    assert classes.shape == (2, PER_CLASS, 1, 8, 8)
    logits = model.network.logits(classes.flatten(0, 1)).unflatten(0, (2, PER_CLASS))
    lead = logits[..., 1] - logits[..., 0]
    assert lead[1].mean() > lead[0].mean()
    assert torch.equal(classes, draw_classes(model, sampling))


def test_models_that_know_no_classes_have_no_samples_of_them(mle: Trained) -> None:
    assert draw_classes(mle, SAMPLING) is None

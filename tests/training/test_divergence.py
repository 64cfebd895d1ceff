"""A run that diverges is stopped at once, says why, leaves a healthy model, and goes on only if it is told to."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from ebmbench.config.registry import load
from ebmbench.config.sections import Divergence, Training
from ebmbench.core import checkpoint
from ebmbench.training.divergence import Diverged, Watch
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trainer import Trainer
from ebmbench.workspace.files import read_json
from tests.conftest import real_methods
from tests.images import image_facts, images
from tests.training.test_resume import DATA, LABELS, SHORT, job

FINE = {"loss": 0.1, "gradient_norm": 2.0, "lowest_energy": -3.0, "highest_energy": 4.0, "chain_gradient_norm": 1.5}


def told(one: Job, **training: Any) -> Job:
    """The same job under other rules."""
    return replace(one, training=one.training.model_copy(update=training))


def with_settings(method: str, **settings: Any) -> Job:
    """A network without confinement: nothing but training holds its energies."""
    one = job(method)
    model = one.model.model_copy(update={"confinement": 0.0})
    return replace(one, settings=load("methods", method).Settings(**settings), model=model)


@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("loss", math.nan, "loss is nan"),
        ("gradient_norm", math.inf, "gradient norm is inf"),
        ("lowest_energy", -math.inf, "energy is -inf"),
        ("highest_energy", 2.5e6, "energy is 2.5e+06, beyond 1e+06,"),
        ("lowest_energy", -2.5e6, "energy is -2.5e+06, beyond 1e+06,"),
        ("chain_gradient_norm", math.nan, "gradient norm along chains is nan"),
        ("chain_gradient_norm", 3e6, "gradient norm along chains is 3e+06, beyond 1e+06,"),
        ("adversary_loss", math.nan, "loss of the adversary is nan"),
        ("adversary_loss", -3e6, "loss of the adversary is -3e+06, beyond 1e+06,"),
        ("adversary_gradient_norm", math.inf, "gradient norm of the adversary is inf"),
    ],
)
def test_a_bad_value_ends_a_run_with_what_was_before(name: str, value: float, cause: str) -> None:
    watch = Watch(Divergence(), budget=1000, temperature=1.0, steering=1.0, size=2)
    watch.look(FINE, 6, 60)
    with pytest.raises(Diverged) as caught:
        watch.look({**FINE, name: value}, 7, 70)
    assert str(caught.value) == f"{cause} at step 7"
    assert caught.value.before == FINE
    assert caught.value.describe().endswith(
        "(loss 0.1, gradient norm 2, lowest energy -3, highest energy 4, chain gradient norm 1.5 before)"
    )


def test_flat_energies_end_a_run_only_if_they_stay_flat_for_a_tenth_of_the_budget() -> None:
    watch, flat = (
        Watch(Divergence(), budget=1000, temperature=0.1, steering=1.0, size=2),
        {**FINE, "lowest_energy": 3.96},
    )
    for step, values in enumerate([flat] * 9 + [FINE] + [flat] * 10):
        watch.look(values, step, 10 * step)
    with pytest.raises(Diverged, match=r"E = c: no two energies differ by more than 0\.04 at step 20"):
        watch.look(flat, 20, 200)


@pytest.mark.parametrize(("gap", "side"), [(20.5, "above"), (-20.5, "below")])
def test_valid_chains_that_stay_far_from_the_data_end_a_run(gap: float, side: str) -> None:
    far = {**FINE, "energy_gap": gap}
    watch, cold = (Watch(Divergence(), budget=1000, temperature=t, steering=1.0, size=2) for t in (1.0, 0.01))
    for step in range(10):
        watch.look(far, step, 10 * step)
    with pytest.raises(Diverged, match=f"chains have left the model: they end 20.5 nats {side} the data at step 10"):
        watch.look(far, 10, 100)
    for step in range(50):
        cold.look(far, step, 10 * step)


@pytest.mark.parametrize("method", real_methods())
def test_the_energies_of_every_method_are_watched_and_cost_nothing(method: str) -> None:
    one, blind = (Trainer(job(method), DATA, LABELS) for _ in range(2))
    one.advance()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "look", lambda *_: None)
        patch.setattr("ebmbench.core.meter.Meter._see", lambda *_: None)
        blind.advance()
    low, high = (one.watch.before[name] for name in ("lowest_energy", "highest_energy"))
    assert -100 < low < high < 1000
    assert ("chain_gradient_norm" in one.watch.before) == (method in ("mle", "cd", "icd", "jem", "adance", "adabrm"))
    assert one.meter.counts == blind.meter.counts
    assert all(torch.equal(a, b) for a, b in zip(one.parameters, blind.parameters, strict=True))


@pytest.mark.parametrize("method", ["fce", "ace", "maximin", "stein"])
def test_an_adversary_that_is_no_number_ends_the_run_by_name_and_is_not_moved(method: str) -> None:
    trainer = Trainer(job(method), DATA)
    trainer._update()
    assert trainer.watch.before["adversary_gradient_norm"] > 0
    assert "adversary_loss" in trainer.method.health()
    weights = list(trainer.method.adversary.network.parameters())
    weights[-1].fill_(math.nan)
    before = [weight.clone() for weight in weights[:-1]]
    with pytest.raises(Diverged, match="loss of the adversary is nan at step 1"):
        trainer._update()
    assert all(torch.equal(a, b) for a, b in zip(before, weights[:-1], strict=True))


def test_a_restart_halves_the_adversarys_rate_too() -> None:
    one, other = Trainer(job("stein"), DATA), Trainer(job("stein"), DATA)
    other.faults = [{}]
    for trainer in (one, other):
        trainer._update()
    assert (one.method.pace, other.method.pace) == (1.0, 0.5)


@pytest.mark.parametrize("share", [0.5, 0.995, 2.0])
def test_only_gradients_that_are_too_long_are_shortened(share: float) -> None:
    free = Trainer(told(job("dsm"), clip=1e9), DATA)
    _, norm = free._update()
    limited = Trainer(told(job("dsm"), clip=share * norm), DATA)
    assert limited._update()[1] == norm
    expected = [p.grad * min(1.0, share) for p in free.parameters if p.grad is not None]
    found = [p.grad for p in limited.parameters if p.grad is not None]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)


def test_energies_that_explode_along_chains_end_the_run_with_a_healthy_model(tmp_path: Path) -> None:
    steep = {"kind": "langevin", "steps": 10, "step_size": 3.0}
    one = told(with_settings("mle", sampler=steep, learning_rate=0.1), divergence=Divergence(energy=1e5, gap=1e9))
    train(one, DATA, tmp_path / "work", tmp_path)
    status = read_json(tmp_path / "status.json")
    (fault,) = status["faults"]
    assert (status["status"], status["restarts"]) == ("diverged", 0)
    assert (
        fault["cause"] == f"energy is {fault['values']['highest_energy']:.6g}, beyond 100000, at step {status['step']}"
    )
    assert fault["values"]["highest_energy"] > 1e5 > fault["before"]["highest_energy"]
    assert 0 < status["model_step"] < status["step"]
    tensors, header = checkpoint.load(tmp_path / "model.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
    assert header["outcome"]["status"] == "diverged"


def test_the_trivial_solution_is_found_out(tmp_path: Path) -> None:
    """Chains that hardly move teach nothing, and the penalty flattens what there was."""
    still = {"kind": "langevin", "steps": 1, "step_size": 1e-8}
    one = with_settings("cd", sampler=still, learning_rate=3e-2, energy_penalty=10.0)
    train(one, DATA, tmp_path / "work", tmp_path)
    status = read_json(tmp_path / "status.json")
    assert status["status"] == "diverged"
    assert status["reason"].startswith("E = c: no two energies differ by more than 0.")


def test_cold_chains_that_noise_moves_and_not_the_energy_end_a_run() -> None:
    """Noise goes √2 (two coordinates) while drift goes the gradient's norm: a share of 0.07 from 0.1."""
    cold, warm = (Watch(Divergence(), budget=1000, temperature=t, steering=1.0, size=2) for t in (0.01, 0.02))
    loose, tight = {**FINE, "chain_gradient_norm": 0.1}, {**FINE, "chain_gradient_norm": 0.15}
    for step, values in enumerate([FINE] + [loose] * 9 + [tight] + [loose] * 10):
        cold.look(values, step, 10 * step)
        warm.look(values, step, 10 * step)
    warm.look(loose, 21, 210)
    with pytest.raises(Diverged, match=r"E = c: it moves chains 0\.0707 times as far as noise does at step 21"):
        cold.look(loose, 21, 210)


def test_a_network_that_is_as_flat_as_it_started_has_not_diverged() -> None:
    watch, values = Watch(Divergence(), 1000, 1e-4, 1.0, 2), {**FINE, "chain_gradient_norm": 0.1}
    for step in range(100):
        watch.look({**values, "chain_gradient_norm": 0.06 if step else 0.1}, step, 10 * step)
    assert watch.first == 0.1
    assert watch.since == {}


def test_the_trivial_solution_is_found_out_at_an_images_temperature(tmp_path: Path) -> None:
    """The penalty flattens a ConvNet; over T its energies still differ by more than E = c allows of valid chains."""
    cold = {"sampler": {**SHORT, "steps": 5}, "buffer": 20, "learning_rate": 1e-2, "energy_penalty": 1e4}
    settings = load("methods", "mle").Settings(model="tiny", **cold)
    training = Training(budget=40_000, batch_size=8, beta1=0.0)
    network = load("models", "tiny").Settings(width=2)
    one = Job("mle", settings, {}, 1, training, network, image_facts((1, 8, 8)))
    train(one, images(30, (1, 8, 8)), tmp_path / "work", tmp_path)
    status = read_json(tmp_path / "status.json")
    assert status["status"] == "diverged"
    assert status["reason"].startswith("E = c: it moves chains 0.00")
    values = status["faults"][0]["values"]
    assert values["highest_energy"] - values["lowest_energy"] > Divergence().flat * 1e-4


def test_a_run_that_was_long_sick_goes_back_to_before_it_was(tmp_path: Path) -> None:
    still = {"kind": "langevin", "steps": 1, "step_size": 1e-8}
    one = with_settings("cd", sampler=still, learning_rate=3e-2, energy_penalty=100.0)
    again = replace(one, training=one.training.model_copy(update={"on_divergence": "restart", "restarts": 2}))
    train(again, DATA, tmp_path / "work", tmp_path)
    status = read_json(tmp_path / "status.json")
    steps = [fault["step"] for fault in status["faults"]]
    assert len(steps) == 3
    assert steps[0] < steps[1] < steps[2]  # each try had its own time to fall ill
    for kept in (tmp_path / "work").glob("healthy*"):
        assert checkpoint.load(kept)[1]["watch"]["since"] == {}


def test_a_watch_that_is_restored_has_waited_as_long_as_it_had() -> None:
    values = {"loss": 1.0, "gradient_norm": 1.0, "lowest_energy": 0.0, "highest_energy": 0.1}
    first = Watch(Divergence(), budget=1000, temperature=1.0, steering=1.0, size=2)
    first.look(values, 0, 0)
    second = Watch(Divergence(), budget=1000, temperature=1.0, steering=1.0, size=2)
    second.restore(json.loads(json.dumps(first.state())))
    second.look(values, 1, 99)
    with pytest.raises(Diverged, match="E = c"):
        second.look(values, 2, 100)


def diverging(patch: pytest.MonkeyPatch, times: int, step: int = 100) -> None:
    """Training that diverges at a step until it was restarted so many times."""
    update = Trainer._update

    def until(self: Trainer) -> tuple[float, float]:
        if len(self.faults) < times and self.step == step:
            raise Diverged(f"loss is nan at step {step}", {"loss": math.nan}, self.watch.before)
        return update(self)

    patch.setattr(Trainer, "_update", until)


@pytest.mark.parametrize(("times", "allowed", "status"), [(1, 2, "ok"), (2, 2, "ok"), (3, 2, "diverged")])
def test_a_restarted_run_goes_on_from_where_it_was_healthy_and_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, allowed: int, status: str
) -> None:
    diverging(monkeypatch, times)
    train(told(job("nce"), on_divergence="restart", restarts=allowed), DATA, tmp_path / "work", tmp_path)
    said = read_json(tmp_path / "status.json")
    assert (said["status"], said["restarts"]) == (status, min(times, allowed))
    assert len(said["faults"]) == times
    assert all(0 < fault["lost_passes"] <= 6000 + 600 for fault in said["faults"])  # a tenth of the budget, and a row
    assert said["faults"][0]["values"] == {"loss": "nan"}


def test_a_restart_halves_the_learning_rate_and_keeps_the_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(told(job("nce"), on_divergence="restart"), DATA, tmp_path / "work", tmp_path / "whole")
    diverging(monkeypatch, times=2)
    train(told(job("nce"), on_divergence="restart"), DATA, tmp_path / "again", tmp_path / "restarted")
    whole, restarted = (pd.read_csv(tmp_path / name / "history.csv") for name in ("whole", "restarted"))
    assert whole["passes"].tolist() == restarted["passes"].tolist()
    ratio = (restarted["learning_rate"] / whole["learning_rate"]).round(12).tolist()
    healthy = ratio.count(1.0)  # rows from before the state that it went back to
    assert healthy > 0
    assert ratio == [1.0] * healthy + [0.25] * (20 - healthy)


def test_the_history_of_a_run_that_diverged_goes_on_until_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverging(monkeypatch, times=1, step=120)
    train(job("nce"), DATA, tmp_path / "work", tmp_path)
    history, said = pd.read_csv(tmp_path / "history.csv"), read_json(tmp_path / "status.json")
    assert said["model_step"] < history["step"].iloc[-1] <= said["step"]


def test_by_default_a_run_that_diverges_is_recorded_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverging(monkeypatch, times=1)
    train(job("nce"), DATA, tmp_path / "work", tmp_path)
    said = read_json(tmp_path / "status.json")
    assert (said["status"], said["step"], said["restarts"]) == ("diverged", 100, 0)
    assert said["reason"].startswith("loss is nan at step 100 (loss ")


def test_a_restart_draws_other_noise_and_no_restart_the_noise_of_always() -> None:
    first, again, other = (Trainer(job("nce"), DATA) for _ in range(3))
    other.faults = [{}]
    for trainer in (first, again, other):
        trainer._update()
    assert first.watch.before == again.watch.before
    assert first.watch.before["loss"] != other.watch.before["loss"]

"""A run that was stopped and resumed equals one that never stopped, bit for bit, wherever it was stopped."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.config.sections import Training
from ebmbench.core import checkpoint
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.training.job import Job
from ebmbench.training.run import train
from ebmbench.training.trainer import Average, Diverged, Trainer
from ebmbench.workspace.files import read_json
from tests.conftest import binary_facts, gaussian_facts, real_methods
from tests.images import image_facts, images

SHORT = {"kind": "langevin", "steps": 2, "step_size": 1.0, "noise_std": 0.01, "clip": 0.1, "box": 1.0}
DATA = torch.randn(500, 2, generator=stream(0, "data"))
LABELS = (DATA[:, 0] > 0).long()


def job(method: str, seed: int = 0, budget: int = 60_000) -> Job:
    settings = load("methods", method).Settings()
    model = load("models", settings.model).Settings(width=8, layers=2)
    training = Training(budget=budget, batch_size=32, rows=20, snapshots=[0.2, 0.5])
    return Job(method, settings, {}, seed, training, model, replace(gaussian_facts(2), classes=list("ab")))


IMAGES = {
    "tiny": ("mle", {"model": "tiny", "sampler": SHORT, "buffer": 20}),
    "convnet": ("adance", {"model": "convnet", "sampler": SHORT, "buffer": 20, "interval": 3, "temperature": 1.0}),
    "unet": ("ncsn", {"model": "unet"}),
}


def image_job(model: str) -> Job:
    """Networks with state beside their weights, and data with noise: all of it must be in a checkpoint."""
    method, settings = IMAGES[model]
    shape = (1, 28, 28) if model == "convnet" else (1, 8, 8)
    sizes = {"tiny": {"width": 2}, "convnet": {"variant": "A", "width": 0.02}, "unet": {"width": 8}}
    budget = 500 if model == "unet" else 2000  # sixty steps of each: one of ncsn takes few passes
    training = Training(budget=budget, batch_size=4, rows=12, data_noise=0.01, beta1=0.0, snapshots=[0.25, 0.75])
    network = load("models", model).Settings(**sizes[model])
    return Job(method, load("methods", method).Settings(**settings), {}, 0, training, network, image_facts(shape))


class Killed(BaseException):
    """Stands for a kill -9: nothing between the last checkpoint and this is kept."""


def killed_after(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    advance, taken = Trainer.advance, []

    def until(self: Trainer) -> None:
        if len(taken) == rows:
            raise Killed
        taken.append(1)
        advance(self)

    monkeypatch.setattr(Trainer, "advance", until)


# tests/training/test_kills.py stops every method at random moments; here one is stopped early, and slowly all of them.
PLACES = [(method, rows) for method in real_methods() for rows in (1, 7, 13)]
MARKED = [pytest.param(*place, marks=[] if place == ("mle", 7) else pytest.mark.slow) for place in PLACES]


@pytest.mark.parametrize(("method", "rows"), MARKED)
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path, method: str, rows: int) -> None:
    kill_and_resume(tmp_path, job(method), DATA, rows, LABELS)


BINARY = {
    "rbm": ("mle", {"model": "rbm", "sampler": {"kind": "block_gibbs"}, "buffer": 20, "replace": "oldest"}),
    "dbm": ("cd", {"model": "dbm", "sampler": {"kind": "block_gibbs"}, "persistent": True, "chains": 20}),
    "dbn": ("cd", {"model": "dbn", "sampler": {"kind": "tempering", "levels": 3}}),
    "boltzmann": ("ratio_matching", {"model": "boltzmann", "units": 2}),
}


@pytest.mark.parametrize("model", list(BINARY))
def test_so_does_a_boltzmann_machine(tmp_path: Path, model: str) -> None:
    """Offsets, layers that join on the way, chains with hidden units, and plain gradient steps."""
    method, settings = BINARY[model]
    training = Training(
        budget=20_000, batch_size=8, rows=12, optimiser="sgd", schedule="constant", snapshots=[0.25, 0.75]
    )
    module = load("models", model)
    facts = binary_facts(1, 2, 3)
    made = Job(
        method, load("methods", method).Settings(**settings), {}, 0, training, module.Settings(**module.EXAMPLE), facts
    )
    data = (torch.rand(50, 1, 2, 3, generator=stream(0, "binary")) < 0.4).float()
    kill_and_resume(tmp_path, made, data, 7)


@pytest.mark.parametrize("model", list(IMAGES))
def test_so_does_one_on_images(tmp_path: Path, model: str) -> None:
    one = image_job(model)
    kill_and_resume(tmp_path, one, images(30, tuple(one.facts.shape)), rows=5)


def kill_and_resume(tmp_path: Path, one: Job, data: Tensor, rows: int, labels: Tensor | None = None) -> None:
    for name in ("whole", "killed", "result"):
        (tmp_path / name).mkdir()
    train(one, data, tmp_path, tmp_path / "whole", labels=labels)
    workshop = tmp_path / "workshop"
    with pytest.MonkeyPatch.context() as patch:
        killed_after(patch, rows)
        with pytest.raises(Killed):
            train(one, data, workshop, tmp_path / "killed", save_every=0.0, labels=labels)
    assert (workshop / "checkpoint.safetensors").exists()
    train(one, data, workshop, tmp_path / "result", labels=labels)
    kept = [file.name for file in (tmp_path / "whole").glob("snapshot-*.safetensors")]
    assert len(kept) == 2
    for file in ("model.safetensors", "status.json", "history.csv", *kept):
        assert (tmp_path / "result" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_a_snapshot_is_the_model_that_a_run_ending_there_would_leave(tmp_path: Path) -> None:
    train(job("nce"), DATA, tmp_path / "work", tmp_path)
    first, second = sorted(tmp_path.glob("snapshot-*.safetensors"), key=lambda file: int(file.stem[9:]))
    for file, share in ((first, 0.2), (second, 0.5)):
        passes = int(file.stem[9:])
        assert share <= passes / 60_000 < share + 1 / 20 + 0.01
        trainer = Trainer(job("nce"), DATA)
        while trainer.meter.counts.passes < passes:
            trainer.advance()
        trainer.finish()
        tensors, header = checkpoint.load(file)
        assert header["passes"] == trainer.meter.counts.passes
        for name, value in trainer.model.state_dict().items():
            assert torch.equal(tensors[f"model.{name}"], value)
    times = read_json(tmp_path / "cost.json")
    assert 0 < times["snapshots"][first.stem[9:]] < times["snapshots"][second.stem[9:]] < times["seconds"]


def test_keeping_snapshots_changes_nothing_of_the_run(tmp_path: Path) -> None:
    one = job("mle")
    without = replace(one, training=one.training.model_copy(update={"snapshots": []}))
    for name, each in (("with", one), ("without", without)):
        (tmp_path / name).mkdir()
        train(each, DATA, tmp_path / f"{name}-work", tmp_path / name)
    ours, theirs = (checkpoint.load(tmp_path / name / "model.safetensors")[0] for name in ("with", "without"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_weight_without_gradient_does_not_shift_the_others_moments() -> None:
    """Under a score loss the last bias has no gradient; here it comes first."""
    whole, half, resumed = (Trainer(job("dsm"), DATA) for _ in range(3))
    for trainer in (whole, half, resumed):
        trainer.parameters.reverse()
        trainer.optimiser = torch.optim.Adam(trainer.parameters, lr=1e-3, fused=True)
        trainer.average = Average(trainer.parameters, decay=0.9)
    half.advance()
    resumed.restore(*half.state())
    whole.advance()
    for trainer in (whole, resumed):
        trainer.advance()
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters, resumed.parameters, strict=True))


def test_a_damaged_checkpoint_is_not_gone_on_with(tmp_path: Path) -> None:
    for name in ("whole", "result", "workshop"):
        (tmp_path / name).mkdir()
    train(job("nce"), DATA, tmp_path, tmp_path / "whole")
    (tmp_path / "workshop" / "checkpoint.safetensors").write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{half")
    train(job("nce"), DATA, tmp_path / "workshop", tmp_path / "result")
    assert (tmp_path / "result" / "history.csv").read_bytes() == (tmp_path / "whole" / "history.csv").read_bytes()


@pytest.mark.parametrize("method", real_methods())
def test_the_budget_is_spent_and_not_overspent_by_more_than_a_step(method: str) -> None:
    trainer = Trainer(job(method, budget=20_000), DATA, LABELS)
    before = 0
    while trainer.progress < 1:
        before = trainer.meter.counts.passes if trainer.step else 0
        trainer.advance()
    step = trainer.meter.counts.passes / trainer.step
    assert before < trainer.job.training.budget <= trainer.meter.counts.passes < trainer.job.training.budget + step


def test_a_loss_that_is_not_a_number_ends_the_run_as_diverged_and_is_not_replaced(tmp_path: Path) -> None:
    data = DATA.clone()
    data[::2] = float("nan")
    train(job("dsm"), data, tmp_path, tmp_path)
    status = read_json(tmp_path / "status.json")
    assert (status["status"], status["step"]) == ("diverged", 0)
    assert status["reason"] == "loss is nan at step 0"
    tensors, _ = checkpoint.load(tmp_path / "model.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())


def test_no_weight_is_touched_by_a_bad_gradient() -> None:
    trainer = Trainer(job("dsm"), DATA)
    trainer.advance()
    before = [parameter.clone() for parameter in trainer.parameters]
    trainer.data = torch.full_like(DATA, torch.inf)
    with pytest.raises(Diverged, match="at step"):
        trainer.advance()
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.parameters, strict=True))


def test_seeds_differ_and_the_digest_names_what_matters() -> None:
    assert job("dsm").digest() == job("dsm").digest()
    others = {job("dsm", seed=1).digest(), job("dsm", budget=70_000).digest(), job("nce").digest()}
    assert len(others | {job("dsm").digest()}) == 4


def test_training_lowers_the_loss() -> None:
    trainer = Trainer(job("nce", budget=100_000), DATA)
    while trainer.progress < 1:
        trainer.advance()
    losses = trainer.history["loss"]
    assert sum(losses[-5:]) < sum(losses[:5])
    assert len(losses) == 20


def test_a_device_that_is_not_there_is_refused_in_one_line() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    one = job("dsm")
    with pytest.raises(UserError, match=r"training\.device: found 'cuda', but torch finds no GPU here"):
        Trainer(replace(one, training=one.training.model_copy(update={"device": "cuda"})), DATA)

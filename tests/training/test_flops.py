"""The FLOPs of a run are those that torch counts around all of its steps, though few steps are looked at."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from ebmbench.config.registry import load
from ebmbench.config.sections import Training
from ebmbench.core import meter
from ebmbench.core.meter import Counts, StepCost
from ebmbench.core.torch_compat import FlopCounter
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer
from tests.conftest import real_methods
from tests.images import image_facts, images
from tests.training.test_resume import DATA, IMAGES, LABELS, SHORT, image_job, job

SHAPE = (1, 4, 4)


def on_images(method: str) -> Job:
    """A small ConvNet, or for noise levels a small U-Net."""
    default = load("methods", method).Settings()
    changes = {"model": "tiny"} if default.model == "mlp" else {"model": "unet"}
    if default.model == "mlp" and default.sampler is not None:
        changes |= {"sampler": SHORT} | ({"temperature": 1.0} if hasattr(default, "temperature") else {})
    if hasattr(default, "noise"):  # a Gaussian in so many dimensions needs more data than there are here
        changes |= {"noise": "mixture"}
    model = load("models", changes["model"]).Settings(width=2 if changes["model"] == "tiny" else 8)
    training = Training(budget=10**6, batch_size=4, data_noise=0.01)
    return Job(method, load("methods", method).Settings(**changes), {}, 0, training, model, image_facts(SHAPE))


class AllModules(nullcontext):
    """In place of torch's record of which module runs: its hooks fail where a score is differentiated by autograd."""

    parents = ("Global",)


def trained(one: Job, data: torch.Tensor, steps: int = 12) -> tuple[Trainer, int]:
    """A trainer after so many steps, and what torch counted meanwhile."""
    trainer, counter = Trainer(one, data, LABELS), FlopCounterMode(display=False)
    counter.mod_tracker = AllModules()
    with counter:
        for _ in range(steps):
            trainer._update()
    return trainer, counter.get_total_flops()


@pytest.mark.parametrize("method", real_methods())
def test_the_flops_of_a_run_on_points_are_those_that_torch_counts(method: str) -> None:
    trainer, flops = trained(job(method), DATA)
    assert trainer.meter.counts.flops == flops > 0


@pytest.mark.parametrize("method", real_methods())
def test_so_are_those_on_images(method: str) -> None:
    trainer, flops = trained(on_images(method), images(30, SHAPE), steps=4)
    assert trainer.meter.counts.flops == flops > 0


@pytest.mark.parametrize("model", list(IMAGES))
def test_so_are_those_of_every_network_for_images(model: str) -> None:
    one = image_job(model)
    trainer, flops = trained(one, images(30, tuple(one.facts.shape)))
    assert trainer.meter.counts.flops == flops > 0


def test_a_forward_pass_costs_two_flops_for_each_weight_of_a_matrix() -> None:
    """cnce sends data and noise there and back, where each matrix but the first is multiplied twice."""
    trainer, _ = trained(job("cnce"), DATA, steps=1)
    first, *rest = [weight.numel() for weight in trainer.model.parameters() if weight.dim() == 2]
    assert trainer.meter.counts.flops == 2 * 32 * 2 * (2 * first + 3 * sum(rest))


@pytest.mark.parametrize("method", real_methods())
def test_looking_at_a_step_changes_no_bit_of_it(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at, plain = (Trainer(job(method), DATA, LABELS) for _ in range(2))
    for _ in range(3):
        looked_at._update()
    monkeypatch.setattr(StepCost, "charge", lambda *_: nullcontext())
    for _ in range(3):
        plain._update()
    assert (plain.meter.counts.flops, looked_at.meter.counts.flops > 0) == (0, True)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters, looked_at.parameters, strict=True))


def test_few_steps_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, trainer = [], Trainer(job("nce"), DATA)

    def note() -> FlopCounter:
        steps.append(trainer.step)
        return FlopCounter()

    monkeypatch.setattr(meter, "FlopCounter", note)
    for _ in range(40):
        trainer._update()
    assert steps == [0, 1, 2, 4, 8, 16, 32]


def test_a_step_of_another_length_is_charged_by_its_passes() -> None:
    counts, cost, matrix = Counts(), StepCost(), torch.ones(3, 3)
    for step, passes in enumerate([10, 10, 10, 20]):
        with cost.charge(counts, step):
            counts.passes += passes
            _ = [matrix @ matrix for _ in range(passes)]
    assert counts.flops == 50 * 2 * 3**3


def test_a_checkpoint_without_flops_is_gone_on_with() -> None:
    trainer, resumed = Trainer(job("dsm"), DATA), Trainer(job("dsm"), DATA)
    for _ in range(6):
        trainer._update()
    tensors, header = trainer.state()
    del header["step_cost"], header["counts"]["flops"]
    resumed.restore(tensors, header)
    for each in (trainer, resumed):
        each._update()
    assert 6 * resumed.meter.counts.flops == trainer.meter.counts.flops - resumed.meter.counts.flops


def test_flops_are_in_the_state_of_a_trainer() -> None:
    one = replace(job("mle"), seed=3)
    trainer, resumed = Trainer(one, DATA), Trainer(one, DATA)
    for _ in range(5):
        trainer._update()
    resumed.restore(*trainer.state())
    assert resumed.meter.counts == trainer.meter.counts
    assert resumed.step_cost == trainer.step_cost

"""Within one seed and dataset all methods start from the same weights and see the same batches; their noise differs."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ebmbench.config.registry import load
from ebmbench.core.streams import Draw
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer
from tests.conftest import real_methods
from tests.training.test_resume import DATA, LABELS, image_job, job

NETWORK = {name: load("methods", name).Settings().model for name in real_methods()}
PLAIN = [name for name, model in NETWORK.items() if model == "mlp" and name != "jem"]  # that has another last layer


def weights(one: Job) -> Tensor:
    """All first weights of the network as one vector."""
    return torch.cat([weight.detach().flatten() for weight in Trainer(one, DATA).model.parameters()])


def steps(one: Job, faults: int = 0) -> tuple[list[Tensor], list[int]]:
    """The batches of three steps, and the seed of each step's stream `noise` as the method is given it."""
    trainer = Trainer(replace(one, training=one.training.model_copy(update={"data_noise": 0.1})), DATA, LABELS)
    trainer.faults = [{}] * faults
    batches, noise, forward = [], [], trainer.method.forward

    def look(energy: object, x: Tensor, draw: Draw, *labels: Tensor) -> Tensor:
        batches.append(x)
        noise.append(draw("noise").initial_seed())
        return forward(energy, x, draw, *labels)

    trainer.method.forward = look
    for _ in range(3):
        trainer._update()
    return batches, noise


@pytest.mark.parametrize("method", PLAIN[1:])
def test_methods_with_one_network_start_from_the_same_weights(method: str) -> None:
    assert torch.equal(weights(job(method)), weights(job(PLAIN[0])))


@pytest.mark.parametrize("method", list(NETWORK)[1:])
def test_methods_see_the_same_batches_and_draw_noise_of_their_own(method: str) -> None:
    """With noise on the data, which belongs to the batch; also where the networks differ."""
    (ours, our_noise), (theirs, their_noise) = steps(job(method)), steps(job(next(iter(NETWORK))))
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert not set(our_noise) & set(their_noise)
    assert not torch.equal(ours[0], ours[1])


def test_other_seeds_datasets_and_networks_have_other_numbers() -> None:
    one = job("dsm")
    elsewhere = replace(one, facts=replace(one.facts, name="elsewhere"))
    for other in (job("dsm", seed=1), elsewhere):
        assert not torch.equal(weights(one), weights(other))
        assert not torch.equal(steps(one)[0][0], steps(other)[0][0])
    assert not torch.equal(weights(one)[:16], weights(job("ncsn"))[:16])


def test_a_restart_has_other_batches_and_other_noise_which_methods_share_again() -> None:
    (first, noise), (again, other_noise) = steps(job("nce")), steps(job("nce"), faults=1)
    assert not any(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not set(noise) & set(other_noise)
    assert all(torch.equal(a, b) for a, b in zip(again, steps(job("dsm"), faults=1)[0], strict=True))


def test_methods_on_images_start_from_the_same_weights_too() -> None:
    one, pixels = image_job("tiny"), torch.zeros(30, 1, 8, 8)
    settings = {name: load("methods", name).Settings(model="tiny") for name in ("dsm", "cd")}
    both = [Trainer(replace(one, method=name, settings=own), pixels).model for name, own in settings.items()]
    assert all(torch.equal(a, b) for a, b in zip(*(model.parameters() for model in both), strict=True))

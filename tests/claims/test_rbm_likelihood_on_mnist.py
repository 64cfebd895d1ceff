"""The likelihood of an RBM on MNIST: the exact one, of the published number of updates; and files that are missing."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from ebmbench.claims import rbm_likelihood_on_mnist as claim
from ebmbench.claims.testing.bench import Bench
from ebmbench.core.binary import index_of, states
from ebmbench.core.streams import stream
from ebmbench.errors import UserError
from ebmbench.experiment.data import Data, make_data
from ebmbench.methods import cd
from ebmbench.models import rbm
from ebmbench.models.common.bipartite import Bipartite
from tests.claims.verdicts import measures
from tests.conftest import binary_facts


@pytest.fixture(autouse=True)
def few_small_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 random events of 4×4 in place of MNIST, and two epochs."""

    def data(bench: Bench, module: Any, **counts: int) -> Data:
        from dataclasses import replace

        x = (torch.rand(410, 1, 4, 4, generator=stream(0, "test")) < 0.3).float()
        made = make_data("small", x[:400], x[400:])
        return replace(made, facts=replace(made.facts, binary=module is claim.binary_mnist))

    monkeypatch.setattr(Bench, "data", data)
    monkeypatch.setattr(claim, "EPOCHS", 2)
    monkeypatch.setattr(claim, "SWEEPS", 2)


def test_training_takes_the_published_number_of_updates(tmp_path: Path) -> None:
    """Four batches of 100 an epoch: a budget in passes would be wrong if an update cost others."""
    found = measures(claim, tmp_path)[0]
    assert {int(found[arm]["updates"]) for arm in claim.BINARY} == {8}
    assert found["gaussian"]["weights"].shape == (16, 16)


def test_an_epoch_is_every_image_once_in_the_order_of_the_files(tmp_path: Path) -> None:
    data = Bench(tmp_path).data(claim.binary_mnist)
    trainer, seen, update = claim.InOrder(claim.pcd("plain", 0, data), data.train), [], cd.Method.forward
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            cd.Method, "forward", lambda self, energy, x, draw: seen.append(x) or update(self, energy, x, draw)
        )
        assert not claim.ended_early(trainer)
    assert len(seen) == 8
    assert torch.equal(torch.cat(seen[:4]), data.train)
    assert torch.equal(torch.cat(seen[4:]), data.train)


def test_chains_start_at_nearly_blank_images(tmp_path: Path) -> None:
    data = Bench(tmp_path).data(claim.binary_mnist)
    method = claim.InOrder(claim.pcd("plain", 0, data), data.train).method
    assert 0 < float(method.get_buffer("buffer.chains").mean()) < 0.02
    assert bool(method.get_buffer("buffer.begun").all())


def test_an_update_of_the_plain_machine_is_the_gradient_with_probabilities_of_hidden_units(tmp_path: Path) -> None:
    data = Bench(tmp_path).data(claim.binary_mnist)
    trainer = claim.InOrder(claim.pcd("plain", 0, data), data.train)
    for step in range(3):
        before, x = trainer.model.fixed(), data.train[100 * step : 100 * step + 100].flatten(1)
        trainer._update()
        chains, after = trainer.method.get_buffer("buffer.chains").flatten(1), trainer.model.fixed()
        on_data, on_chains = before.hidden(x), before.hidden(chains)
        assert torch.allclose(after.weight, before.weight + 1e-4 * (x.T @ on_data - chains.T @ on_chains), atol=1e-7)
        assert torch.allclose(after.visible_bias, before.visible_bias + 0.01 * (x - chains).mean(0), atol=1e-7)
        assert torch.allclose(after.hidden_bias, before.hidden_bias + 0.01 * (on_data - on_chains).mean(0), atol=1e-7)


def test_hidden_offsets_follow_the_batch_and_not_the_chains(tmp_path: Path) -> None:
    data = Bench(tmp_path).data(claim.binary_mnist)
    trainer = claim.InOrder(claim.pcd("centred", 0, data), data.train)
    mean = trainer.model.fixed().hidden(data.train[: claim.BATCH]).mean(0)
    trainer._update()
    assert torch.allclose(trainer.model.hidden_offset, 0.5 + 0.01 * (mean - 0.5), atol=1e-6)


def test_the_likelihood_is_that_of_all_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong constants would cancel in a difference of arms, so each is held to the sum over all visible states."""
    machines = []
    complete = claim.complete
    monkeypatch.setattr(claim, "complete", lambda machine, *rest: machines.append(machine) or complete(machine, *rest))
    found = measures(claim, tmp_path)[0]
    for arm, machine in zip(claim.BINARY, machines, strict=True):
        log_z = float((-machine(states(16).reshape(-1, 1, 4, 4))).logsumexp(0))
        assert float(found[arm]["log_z"]) == pytest.approx(log_z, abs=1e-9)
        assert -16 * math.log(2) - 20 < float(found[arm]["log_likelihood"]) < 0


def test_completion_keeps_what_is_known() -> None:
    machine = rbm.Model(rbm.Settings(hidden=3), binary_facts(1, 6, 6)).initialise(stream(0, "test")).double()
    x = (torch.rand(4, 1, 6, 6, generator=stream(1, "test")) < 0.5).double()
    found = claim.complete(machine, x, stream(2, "test"))
    assert found.shape == (4, 5, 6, 6)
    for part in range(5):
        assert torch.equal(found[:, part, :3], x[:, 0, :3].float())
    assert set(found[:, 1, 3:].unique().tolist()) == {0.5}
    assert not torch.equal(found[:, 3, 3:], x[:, 0, 3:].float())


def test_without_the_files_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("EBMBENCH_DATA", str(tmp_path))
    bench = Bench(tmp_path)

    def offline(*_: object) -> None:
        raise UserError("mnist: found no files, and no network")

    monkeypatch.setattr("ebmbench.data.common.files.Files._download", offline)
    with pytest.raises(UserError, match="mnist"):
        claim.measure("plain", 0, bench)


def test_exact_samples_have_the_probabilities_of_the_table() -> None:
    machine = three_by_two()
    x = claim.draw_exactly(machine, 40_000, stream(0, "exact"))
    table = (-machine(states(3)) - machine.log_partition()).exp()
    found = torch.bincount(index_of(x), minlength=8) / len(x)
    assert table.max() > 3 * table.min()
    assert torch.allclose(found.double(), table, atol=0.01)


def test_the_bracket_holds_log_z_and_is_narrow() -> None:
    machine, facts = three_by_two(), binary_facts(3)
    ahead, back = claim.bracket(machine, facts, stream(0, "exact"))
    log_z = machine.log_partition()
    assert ahead.log_z - 4 * ahead.error <= log_z <= back.log_z + 4 * back.error
    assert back.log_z - ahead.log_z < 0.1


def three_by_two() -> Bipartite:
    """Three visible and two hidden units with strong weights."""
    weight = torch.tensor([[2.0, -1.0], [1.5, 1.0], [-2.0, 2.0]], dtype=torch.float64)
    return Bipartite(weight, torch.tensor([0.5, -0.3, 0.2]).double(), torch.tensor([-1.0, 0.4]).double())

"""All contenders do the same work: the same network, and from one seed the same chains and the same training."""

import pytest
import torch

from benchmarks.speed import problems
from benchmarks.speed.contenders import bare
from benchmarks.speed.contenders.bare import Bare
from benchmarks.speed.contenders.contender import Contender, contenders
from benchmarks.speed.contenders.ours import Ours
from benchmarks.speed.contenders.plain import copy_plain, require_equal
from benchmarks.speed.side_by_side import TRAINED, list_rows, make_job
from ebmbench.config.registry import load
from ebmbench.core.energy import score
from ebmbench.core.streams import stream

LIBRARIES = {"torchebm": "torchebm", "ebmkit": "ebm"}


def find_library(name: str) -> Contender:
    pytest.importorskip(LIBRARIES[name])
    return next(one for one in contenders() if one.name == name)


@pytest.mark.parametrize(
    ("model", "settings", "facts"),
    [
        ("mlp", {"width": 16, "layers": 3}, problems.vectors(5)),
        ("mlp", {"width": 16, "layers": 2, "confinement": 0.3}, problems.images(8, 17)),
        ("tiny", {"width": 4}, problems.images(28, 256)),
        ("convnet", {"variant": "A", "width": 0.1}, problems.images(28, 256)),
        ("convnet", {"variant": "A", "width": 0.1, "normalised": False}, problems.images(28, 256)),
    ],
)
def test_the_plain_network_is_ours(model: str, settings: dict, facts) -> None:
    problem = problems.make_problem(model, settings, facts, 4)
    x = problem.x.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(problem.plain(x).sum(), x)
    torch.testing.assert_close(-gradient, score(problem.network, problem.x), atol=1e-5, rtol=1e-4)
    assert not {id(one) for one in problem.plain.parameters()} & {id(one) for one in problem.network.parameters()}


def test_a_plain_network_that_is_not_ours_is_noticed() -> None:
    module, facts = load("models", "mlp"), problems.vectors(2)
    network = module.Model(module.Settings(width=8), facts).initialise(stream(0, "weights"))
    twin = copy_plain(network)
    with torch.no_grad():
        twin.layers[0].bias += 1
    with pytest.raises(AssertionError):
        require_equal(network, twin, torch.randn(4, 2, generator=stream(0, "x")))


@pytest.mark.parametrize("library", LIBRARIES)
def test_from_one_seed_a_library_takes_the_steps_of_the_bare_loop(library: str) -> None:
    problem, other = problems.mlp_plane(128), find_library(library)
    torch.manual_seed(0)
    expected = bare.langevin(problem.plain, problem.x, 5, problem.step_size)
    torch.manual_seed(0)
    torch.testing.assert_close(other.langevin(problem)(5), expected)


@pytest.mark.parametrize("name", TRAINED)
def test_the_bare_loop_starts_with_the_weights_of_our_training(name: str) -> None:
    job, data = make_job(name), problems.eight_gaussians()[1]
    ours, loop = Ours().learner(job, data), Bare().learner(job, data)
    require_equal(ours.trainer.model, loop.network, data[:8])
    ours.advance(2)
    loop.advance(2)
    assert all(torch.isfinite(network(data[:8])).all() for one in (ours, loop) for network in one.networks())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ["cd", "dsm"])
def test_from_one_seed_a_library_trains_as_the_bare_loop(library: str, name: str) -> None:
    job, data = make_job(name), problems.eight_gaussians()[1]
    other, loop = find_library(library).learner(job, data), Bare().learner(job, data)
    if (library, name) == ("ebmkit", "cd"):
        pytest.skip("its chains start at other data than the batch")
    for learner in (other, loop):
        torch.manual_seed(1)
        learner.advance(3)
    torch.testing.assert_close(other.networks()[0](data[:64]), loop.network(data[:64]), atol=1e-4, rtol=1e-4)


def test_adjusted_chains_of_the_bare_loop_keep_a_gaussian_in_place() -> None:
    torch.manual_seed(0)
    x = bare.mala(lambda x: 0.5 * x.square().sum(1), torch.randn(4000, 2), 50, 1.0)
    assert x.var(0).sub(1).abs().max() < 0.1
    assert x.mean(0).abs().max() < 0.1


def test_the_bare_quadrature_of_a_gaussian_is_exact() -> None:
    assert bare.log_z(lambda x: 0.5 * x.square().sum(1), 8.0, 128) == pytest.approx(1.8378770664, abs=1e-8)


def test_every_row_is_answered_by_ours_and_names_are_not_repeated() -> None:
    named = [row.name for row in list_rows()]
    assert len(named) == len(set(named))
    assert [row.name for row in list_rows("training*: mle")] == ["mle, 20 Langevin steps"]
    first, second, *_ = contenders()
    assert (first.name, second.name) == ("ebmbench", "bare")
    for row in list_rows("mlp 2-d, batch"):
        for one in (first, second):
            row.ask(one)(1)

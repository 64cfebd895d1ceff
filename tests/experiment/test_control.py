"""Real chains through metrics, control and verdict: the truth, a spurious mode, a sampler that cannot jump."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ebmbench.config.sections import Health, Metrics
from ebmbench.core.dataset import Facts
from ebmbench.core.energy import Energy
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.experiment.control import DensityEnergy, Kernels, make_kernels, run_control
from ebmbench.experiment.judge import compute_metrics
from ebmbench.experiment.recording import run_watched
from ebmbench.experiment.samples import make_trace
from ebmbench.experiment.verdict import Control, Verdict, verdict
from ebmbench.metrics.common.evaluation import Evaluation, Subject
from ebmbench.samplers import jumping, langevin, mala
from ebmbench.samplers.common.chain import SamplerSettings
from tests.conftest import gaussian_facts

TRUTH = Mixture(torch.tensor([[-2.0, 0.0], [2.0, 0.0]]), torch.ones(2), 0.4)
FACTS = Facts("two", [2], 9, 9, [0.0, 0.0], [[4.16, 0.0], [0.0, 0.16]], 1.47, "none", "none")
JUMPS = jumping.Settings(steps=50, jumps=16, step_size=0.02)
LOCAL = mala.Settings(steps=200, step_size=0.02)
METRICS = ["log_likelihood", "r_hat", "ess"]


class Spurious(DensityEnergy):
    """The truth with a mode of half its mass where there are no data, so that jumps, fitted to these, miss it."""

    def __init__(self) -> None:
        centres = torch.tensor([[-2.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
        super().__init__(Mixture(centres[:2], torch.ones(2), 0.4))
        self.narrow = Mixture(centres[2:], torch.ones(1), 0.3)

    def _parts(self, x: Tensor) -> Tensor:
        return torch.stack([self.density.log_prob(x), self.narrow.log_prob(x)])

    def __call__(self, x: Tensor) -> Tensor:
        return -self._parts(x).logsumexp(0)

    def energy_and_score(self, x: Tensor, create_graph: bool = False) -> tuple[Tensor, Tensor]:
        shares = self._parts(x).softmax(0)[..., None]
        return self(x), shares[0] * self.density.score(x) + shares[1] * self.narrow.score(x)


def judge(energy: Energy, sampler: SamplerSettings, starts: Tensor) -> Verdict:
    """As the stages do, from chains to a verdict."""
    trace = make_trace(energy, FACTS)
    run_watched(sampler.fit_to(FACTS), energy, starts, stream(0, "chain"), trace=trace)
    subject = Subject(energy, None, trace=trace.stacked(), traced=tuple(trace.names))
    e = Evaluation(subject, TRUTH.sample(100, stream(0, "test")), TRUTH, FACTS, Metrics(cells=256))
    run = {"sampler": sampler.model_dump(), "chains": 500, "spread": 1.5}

    def control() -> Control:
        found = run_control(run, FACTS, TRUTH, lambda: torch.zeros(0))
        return Control(float(found["r_hat"]), float(found["ess"]))

    return verdict(compute_metrics({"": e}, METRICS), METRICS[0], Health(), control)


STARTS = FACTS.starts(64, stream(0, "start"))


def test_the_truth_as_a_model_is_ok() -> None:
    assert judge(DensityEnergy(TRUTH), JUMPS, STARTS) == Verdict("ok", "", "ok", "ok")


def test_a_model_with_a_separate_spurious_mode_is_unmixed() -> None:
    found = judge(Spurious(), JUMPS, STARTS)
    assert (found.density, found.sampler) == ("ok", "unmixed"), found.reason
    assert "of the control 1.0" in found.reason


def test_two_far_modes_under_local_steps_are_a_limit_of_the_sampler() -> None:
    found = judge(DensityEnergy(TRUTH), LOCAL, STARTS)
    assert (found.word, found.density, found.sampler) == ("sampler limit", "ok", "sampler limit")


IMAGES = replace(gaussian_facts(64), shape=[1, 8, 8], covariance=[], levels=17)


def test_without_a_known_density_the_control_is_a_mixture_around_training_events() -> None:
    train = torch.rand(300, 1, 8, 8, generator=stream(0, "train")) * 2 - 1
    kernels = make_kernels(train, LOCAL.fit_to(IMAGES), IMAGES)
    assert (len(kernels.centres), kernels.deviation) == (100, 0.3)
    assert make_kernels(train, langevin.Settings(step_size=1.0), IMAGES).deviation == 1.0
    x = train[:5].double().requires_grad_()
    mixture = Mixture(kernels.centres, torch.ones(100), 0.3)
    shift = kernels(x) + mixture.log_prob(x.flatten(1))
    torch.testing.assert_close(shift, shift[:1].expand(5))
    (gradient,) = torch.autograd.grad(kernels(x).sum(), x)
    torch.testing.assert_close(kernels.energy_and_score(x.detach())[1], -gradient)


@pytest.mark.parametrize(("deviation", "mixes"), [(10.0, True), (0.3, False)])
def test_cold_chains_on_images_meet_in_one_basin_only(deviation: float, mixes: bool) -> None:
    """Kernels that melt into one basin stop no sampler, separate ones stop one at a low temperature."""
    train = torch.sign(torch.randn(300, 1, 8, 8, generator=stream(0, "train")))
    cold = langevin.Settings(steps=500, step_size=0.09 * (deviation / 0.3) ** 2, noise_std=0.01)
    found = run_control({"sampler": cold.model_dump(), "chains": 100, "spread": 1.5}, IMAGES, None, lambda: train)
    assert Control(float(found["r_hat"]), float(found["ess"])).mixes(Health()) == mixes
    assert isinstance(make_kernels(train, cold, IMAGES), Kernels)

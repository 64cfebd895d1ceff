"""The judge's sampler on toys: jumps keep the weights of far modes, and the truth itself passes the test of mixing."""

from pathlib import Path

import pytest
import torch

from ebmbench.config.registry import load
from ebmbench.config.schema import read_yaml
from ebmbench.config.sections import Health
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.data.common.densities import Mixture
from ebmbench.experiment.control import DensityEnergy
from ebmbench.experiment.recording import run_watched
from ebmbench.experiment.samples import make_trace
from ebmbench.metrics.common.mixing import effective_sample_size, r_hat
from ebmbench.samplers import jumping, mala
from ebmbench.samplers.common.chain import SamplerSettings
from ebmbench.samplers.common.choice import parse
from ebmbench.workspace.layout import DEFAULTS

ROOT = Path(__file__).parents[2]
MIXTURE = Mixture(torch.tensor([[-4.0, 0.0], [4.0, 0.0]]), torch.tensor([0.2, 0.8]), 0.4)
FAR_MODES = jumping.Settings(
    steps=40, jumps=8, step_size=0.02, covariance=[[10.4, 0.0], [0.0, 0.16]], centre=[2.4, 0.0]
)


def share_on_the_left(settings: SamplerSettings, starts: torch.Tensor) -> float:
    chain = settings.run(DensityEnergy(MIXTURE), starts, stream(0, "chain"))
    return float((chain.x[:, 0] < 0).double().mean())


def test_jumps_leave_the_weights_of_two_far_modes_in_place() -> None:
    starts = MIXTURE.sample(20_000, stream(0, "x")).double()
    assert share_on_the_left(FAR_MODES, starts) == pytest.approx(0.2, abs=0.01)


def test_jumps_find_the_weights_of_two_far_modes_and_local_steps_do_not() -> None:
    one_mode = 0.4 * torch.randn(5000, 2, generator=stream(0, "x"), dtype=torch.float64) + MIXTURE.centres[1]
    assert share_on_the_left(FAR_MODES, one_mode) == pytest.approx(0.2, abs=0.02)
    assert share_on_the_left(mala.Settings(steps=200, step_size=0.02), one_mode) == 0


def mixing_of_the_truth(dataset: str, settings: SamplerSettings) -> tuple[float, float]:
    """R̂ and effective draws of 64 chains from noise on the data's own density."""
    density = load("data", dataset).density()
    x = density.sample(20_000, stream(0, dataset)).numpy()
    facts = Facts.of(dataset, x, x, licence="", hash="")
    energy = DensityEnergy(density)
    trace, starts = make_trace(energy, facts), facts.starts(64, stream(0, "starts"))
    run_watched(settings.fit_to(facts), energy, starts, stream(0, "chain"), trace=trace)
    draws = trace.stacked().double().numpy()
    followed = [draws[:, :, place] for place in range(draws.shape[2])]
    return max(map(r_hat, followed)), min(map(effective_sample_size, followed))


@pytest.mark.parametrize("dataset", ["eight_gaussians", "two_moons", "checkerboard", "unbalanced"])
def test_the_default_sampler_mixes_on_the_truth_where_local_steps_do_not(dataset: str) -> None:
    section = read_yaml(ROOT / DEFAULTS)["sampling"]["sampler"]
    worst, fewest = mixing_of_the_truth(dataset, parse(section, DEFAULTS, "sampling"))
    assert worst <= 1.05
    assert fewest >= Health().ess
    assert mixing_of_the_truth(dataset, mala.Settings(steps=200, step_size=0.02))[0] > Health().r_hat

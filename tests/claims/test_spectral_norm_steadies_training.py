"""Growth of known curves, and what counts as a collapse."""

from typing import Any

import numpy as np
import pytest

from ebmbench.claims.spectral_norm_steadies_training import STEPS, ended_early, growth, statistics
from ebmbench.training.trainer import Diverged


def arm(v: np.ndarray, diverged: float = 0.0, fid: float = 1.0) -> dict[str, np.ndarray]:
    return {"chain_gradient_norm": v, "diverged": np.array(diverged), "fid": np.array(fid), "noise_fid": np.array(50.0)}


def test_exponential_growth_is_told_by_its_rate() -> None:
    assert growth(np.exp(0.1 * np.arange(100))) == pytest.approx(0.1 * 70)


def test_what_happens_at_the_start_is_no_growth() -> None:
    assert growth(np.concatenate([np.linspace(0.01, 2, 20), np.full(80, 2.0)])) == pytest.approx(0)


def test_a_fall_is_not_steady_either() -> None:
    found = statistics({"plain": arm(np.ones(50)), "normalised": arm(np.exp(-0.1 * np.arange(50)))})
    assert found["steady"] > 1


@pytest.mark.parametrize(("diverged", "fid", "collapsed"), [(0.0, 1.0, 0.0), (1.0, 1.0, 1.0), (0.0, 60.0, 1.0)])
def test_diverged_or_worse_than_noise_is_collapsed(diverged: float, fid: float, collapsed: float) -> None:
    found = statistics({"plain": arm(np.ones(50), diverged, fid), "normalised": arm(np.ones(50))})
    assert found["collapse"] == collapsed
    assert found["survival"] == 0


class Stub:
    """A run of which all is known: it takes 50 steps at a time and gives up at one."""

    def __init__(self, last: int) -> None:
        self.step, self.last = 0, last

    def advance(self) -> None:
        self.step += 50
        if self.step > self.last:
            raise Diverged("energy is inf")


@pytest.mark.parametrize(("last", "early"), [(STEPS, False), (STEPS - 60, True)])
def test_a_run_that_gives_up_before_its_last_step_ended_early(last: int, early: bool) -> None:
    trainer: Any = Stub(last)
    assert ended_early(trainer) == early

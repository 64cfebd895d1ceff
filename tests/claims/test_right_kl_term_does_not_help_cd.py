"""True CD with the right KL term: what is trained is what the claim names, and a term that helps is told."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from ebmbench.claims import right_kl_term_does_not_help_cd as claim
from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms
from ebmbench.claims.testing.criterion import decide_criterion
from ebmbench.methods import cd, icd
from tests.claims.verdicts import FIRST, ROOT


class Bowl(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x.flatten(1).square().sum(1)


class Watching(Bench):
    """A bench that remembers what is trained; its model is a bowl, and its FID the mean square of the images."""

    def train(self, method: Any, settings: Any, *_: Any) -> Any:
        self.trained = method, settings
        return SimpleNamespace(trained=SimpleNamespace(judged=Bowl()), history={"gradient_norm": np.ones(4)})

    def fidelity(self, data: Any, samples: torch.Tensor) -> dict[str, float]:
        return {"fid": float(samples.square().mean())}


@pytest.mark.parametrize(("arm", "method"), [("cd", cd), ("icd 0.1", icd), ("icd 1", icd)])
def test_each_arm_trains_persistent_chains_from_data_with_the_right_sign(arm: str, method: Any) -> None:
    bench = Watching(ROOT)
    found = claim.measure(arm, FIRST, cast(Bench, bench))
    used, settings = bench.trained
    assert used is method
    assert (settings.persistent, settings.reset, settings.sampler) == (True, 0.1, claim.SAMPLER)
    if arm != "cd":
        assert (settings.sign, settings.weight) == (-1, claim.WEIGHTS[arm])
    assert found["noise"] < 0.1  # chains fall to the bottom of the bowl


def arms(of_cd: float, with_term: tuple[float, float], gradient: float) -> Arms:
    """FID from noise, and the gradient with λ = 1; from images FID is 3, the first half of training does not count."""
    fids = dict(zip(claim.WEIGHTS, (of_cd, *with_term), strict=True))
    norms = {"cd": 1.0, "icd 0.1": 1.0, "icd 1": gradient}
    return {
        arm: {"noise": np.array(fid), "data": np.array(3.0), "gradient": np.array([99.0, norms[arm]])}
        for arm, fid in fids.items()
    }


def verdicts(*of: tuple[float, tuple[float, float], float]) -> dict[str, str]:
    rows = [claim.statistics(arms(*one)) for one in of]
    return {one.key: decide_criterion(one, [row[one.key] for row in rows], 3).verdict for one in claim.CLAIM.criteria}


def test_a_term_that_helps_with_one_weight_and_a_term_that_is_not_felt_are_told() -> None:
    useless = [(40.0 + i, (45.0, 50.0), 50.0 + i) for i in range(3)]
    assert set(verdicts(*useless).values()) == {"reproduced"}
    helping = [(40.0 + i, (3.0, 50.0), 50.0 + i) for i in range(3)]
    assert verdicts(*helping) == {"helps": "not reproduced", "fails": "not reproduced", "felt": "reproduced"}
    unfelt = [(40.0 + i, (45.0, 50.0), 1.01 + 0.01 * i) for i in range(3)]
    assert verdicts(*unfelt)["felt"] == "not reproduced"

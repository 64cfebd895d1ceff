"""Chains that are walked in parts are one run, and the criteria tell a model that generates from one that does not."""

from typing import cast

import numpy as np
import torch

from ebmbench.claims import true_cd_holds_but_does_not_generate as claim
from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.claim import Arms
from ebmbench.claims.testing.criterion import decide_criterion
from ebmbench.claims.testing.digits_protocol import SAMPLER
from ebmbench.core.streams import stream
from ebmbench.experiment.data import Data, make_data


class Bowl(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.01 * x.flatten(1).square().sum(1)


def arms(of_cd: tuple[float, float], of_mle: tuple[float, float], kept: float) -> Arms:
    """FID at the end, from noise and from data."""
    fid = {
        name: {"noise": np.array([100.0, a]), "data": np.array([0.4, b])}
        for name, a, b in [("cd", *of_cd), ("mle", *of_mle)]
    }
    return {arm: {**found, "kept": np.array(kept)} for arm, found in fid.items()}


def verdicts(*of: tuple[tuple[float, float], tuple[float, float], float]) -> dict[str, str]:
    rows = [claim.statistics(arms(*one)) for one in of]
    return {c.key: decide_criterion(c, [row[c.key] for row in rows], 4).verdict for c in claim.CLAIM.criteria}


def test_parts_of_a_chain_are_the_chain_in_one_go() -> None:
    x = torch.rand(3, 1, 4, 4, generator=stream(0, "x"))
    parts = claim.walked(Bowl(), x, 9000, "noise")
    whole = SAMPLER.model_copy(update={"steps": sum(claim.LENGTHS)})
    assert torch.equal(parts[-1], whole.run(Bowl(), x, stream(9000, "claim", claim.NAME, "noise", "chain")).x)
    assert torch.equal(parts[0], x)


def test_cd_that_generates_mle_that_does_not_and_chains_that_leave_are_all_told() -> None:
    good = [((50.0, 3.0), (2.0 + 0.1 * i, 3.0), 0.8) for i in range(3)]
    assert set(verdicts(*good).values()) == {"reproduced"}
    generating = [((2.0, 1.0), (2.0 + 0.1 * i, 3.0), 0.8) for i in range(3)]
    assert verdicts(*generating)["fails"] == "not reproduced"
    vacuous = [((99.0, 3.0), (90.0 + i, 3.0), 0.8) for i in range(3)]
    assert verdicts(*vacuous)["control"] == "not reproduced"
    leaving = [((50.0 + i, 40.0), (2.0, 3.0), 0.1) for i in range(3)]
    assert (verdicts(*leaving)["holds"], verdicts(*leaving)["stays"]) == ("not reproduced", "not reproduced")


class Brightest:
    """A bench whose classifier sees an image as the number of its brightest pixel."""

    def classifier(self, data: Data) -> "Brightest":
        return self

    def classify(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1).argmax(1)


def test_a_chain_that_stays_keeps_its_class_and_one_that_leaves_does_not() -> None:
    x = torch.eye(4).reshape(4, 1, 2, 2)
    data, bench = make_data("four", x, x), cast(Bench, Brightest())
    assert claim.kept(bench, data, 0.5 * x) == 1
    assert claim.kept(bench, data, x[[0, 1, 3, 2]]) == 0.5

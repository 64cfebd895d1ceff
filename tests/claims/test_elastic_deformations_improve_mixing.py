"""Both samplers differ by the deformations alone, parts are the whole run, and the statistics tell who remembers."""

from typing import Any

import numpy as np
import pytest
import torch

from ebmbench.claims import elastic_deformations_improve_mixing as claim
from ebmbench.claims.testing.claim import Arms
from ebmbench.claims.testing.criterion import decide_criterion
from ebmbench.core.streams import stream


class Bowl(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.01 * x.flatten(1).square().sum(1)


def images() -> torch.Tensor:
    return 2 * torch.rand(3, 1, 8, 8, generator=stream(0, "x")) - 1


def test_the_samplers_differ_by_the_deformations_alone() -> None:
    plain, elastic = (claim.SAMPLERS[name].model_dump() for name in ("plain", "elastic"))
    assert {key: value for key, value in elastic.items() if key in plain and key != "kind"} == {
        key: value for key, value in plain.items() if key != "kind"
    }
    assert set(elastic) - set(plain) == {"every", "amplitude", "smoothness"}


def test_a_training_run_is_warped_once_at_its_start() -> None:
    assert claim.WARPED.steps <= claim.WARPED.every
    assert all(steps % claim.WARPED.every == 0 for steps in claim.LENGTHS[:-1])


@pytest.mark.parametrize("name", ["plain", "elastic"])
def test_parts_of_a_chain_are_the_chain_in_one_go(name: str) -> None:
    parts = claim.walked(claim.SAMPLERS[name], Bowl(), images(), 9000, "x")
    whole = claim.SAMPLERS[name].model_copy(update={"steps": sum(claim.LENGTHS)})
    assert torch.equal(parts[-1], whole.run(Bowl(), images(), stream(9000, "claim", claim.NAME, "x")).x)


def arms(kept: tuple[float, float], fid: tuple[float, float], own: float = 6.0) -> Arms:
    """Of the plain and of the elastic energy, at the end of the chains; `own` is the plain one's FID without warps."""
    found: dict[str, Any] = {}
    for name, share, distance in zip(("plain", "elastic"), kept, fid, strict=True):
        found[name] = {f"{name}_kept": np.array([1.0, share]), "elastic_fid": np.array([100.0, distance])}
    found["plain"]["plain_fid"] = np.array([100.0, own])
    return found


def verdicts(*of: Arms) -> dict[str, str]:
    rows = [claim.statistics(one) for one in of]
    return {c.key: decide_criterion(c, [row[c.key] for row in rows], 3).verdict for c in claim.CLAIM.criteria}


def test_each_criterion_falls_with_what_it_is_about() -> None:
    seeds = (0.01, 0.02, 0.03)
    assert set(verdicts(*(arms((0.9, 0.2 + d), (8.0, 3.0 + d)) for d in seeds)).values()) == {"reproduced"}
    assert verdicts(*(arms((0.9, 0.9 + d), (8.0, 3.0)) for d in seeds))["mixing"] == "not reproduced"
    assert verdicts(*(arms((0.9, 0.2), (3.0, 3.0 + d)) for d in seeds))["landscape"] == "not reproduced"
    assert verdicts(*(arms((0.9, 0.2), (8.0, 3.0 + d), own=2.0) for d in seeds))["samples"] == "not reproduced"

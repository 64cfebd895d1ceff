"""The climb and fall of CD-1: the statistics of known curves, the number of updates, and the exact likelihood."""

from pathlib import Path

import numpy as np
import pytest

from ebmbench.claims import cd_climbs_then_falls as claim
from ebmbench.claims.testing.claim import Arms
from ebmbench.claims.testing.measure import decide
from tests.claims.verdicts import measures


def curves(end: float, pcd: float, tempering: float) -> Arms:
    """Climbs from −300 to −155, then falls to the given ends."""
    climb, quarter = np.linspace(-300, -155, 10), claim.POINTS // 4
    ends = {"cd": end, "pcd": pcd, "tempering": tempering}
    ways = {arm: [*climb, *np.linspace(-155, last, 30 - quarter), *[last] * quarter] for arm, last in ends.items()}
    return {arm: {"log_likelihood": np.array(way), "updates": np.array(20_000)} for arm, way in ways.items()}


def test_the_published_curves_reproduce_it_and_others_do_not() -> None:
    name = "cd_climbs_then_falls"
    assert decide(name, [curves(-212, -400, -160)] * 3).verdict == "reproduced"
    for others in (curves(-170, -400, -160), curves(-212, -160, -160), curves(-212, -400, -200)):
        assert decide(name, [others] * 3).verdict == "not reproduced"


def test_every_arm_trains_for_as_many_updates_and_improves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "UPDATES", 300)
    monkeypatch.setattr(claim, "POINTS", 4)
    for found in measures(claim, tmp_path)[0].values():
        assert abs(int(found["updates"]) - 300) <= 1
        way = found["log_likelihood"]
        assert len(way) == 4
        assert -2000 < way[0] < way[-1] < claim.BOUND

"""How much `python -m benchmarks.speed` measures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The settings of the page."""

    rounds: int = 15  # of chains, training steps and scaling
    rows: str = "*"  # of the side-by-side tables
    against: str = ""  # a revision or version; the last release if empty
    suite: str = "quick"  # that is run by this version and by the last release
    jobs: tuple[int, ...] = (2, 1)  # of that run: once with each
    runs: int = 3  # of edits and of orchestration
    stages: tuple[int, ...] = (25, 75, 150, 300)  # sizes of suites for the overhead per stage
    patience: int = 150  # stages of the largest suite that the older version has to run
    limit: float = 15.0  # seconds of training to a KL
    seeds: int = 1  # trainings of each method to a KL


QUICK = Settings(rounds=1, suite="tiny", jobs=(2,), runs=1, stages=(25,), limit=1.0)

"""Kill the flow again and again, at times that a seed chooses: `python -m tests.chaos.kills --rounds 10 --seed 0`.

Every round starts `ebmbench run` in a clone and ends it with `kill -9`: at its start, while a stage of a certain kind
runs, or at any time; now and then with a Prefect server of its own. Within ten seconds no process of the clone may be
left, and `dvc status` must work. What is finished after the last round must be what a clone that nobody disturbed has.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pipelines.flows.server import start_server
from tests.chaos.clone import SUITE, make_anew, seconds_until, stages_running, stale, start_flow
from tests.chaos.same import differences
from tests.pipelines.conftest import processes_in
from tests.workflow.conftest import Clone, make_clone

PATIENCE_SECONDS = 10.0
START, ANY = "start", "any time"
KINDS = (START, "prepare", "train", "sample", "evaluate", "report", ANY, ANY)


@dataclass(frozen=True)
class Blow:
    """Strike `delay` seconds after the flow's start, or after a stage of that kind has started."""

    target: str
    delay: float
    own_server: bool


@dataclass(frozen=True)
class Round:
    """What was hit, and what was left of it."""

    blow: Blow
    struck: float
    running: list[str]
    gone: float | None
    status: str

    @property
    def good(self) -> bool:
        """Nothing left, and DVC works."""
        return self.gone is not None and self.status == "works"

    def row(self, number: int) -> str:
        """A line of the table."""
        aim = f"{self.blow.target}{', own server' if self.blow.own_server else ''}"
        left = "**some**" if self.gone is None else f"none after {self.gone:.1f} s"
        verdict = "ok" if self.good else "**fault**"
        running = ", ".join(self.running) or "planning"
        return f"| {number} | {aim} | {self.struck:.1f} | {running} | {left} | {self.status} | {verdict} |"


def blows(rounds: int, seed: int, longest: float) -> Iterator[Blow]:
    """Each target as often as the others, in an order and at times that the seed chooses."""
    chance = random.Random(seed)
    targets = [KINDS[number % len(KINDS)] for number in range(rounds)]
    chance.shuffle(targets)
    for target in targets:
        span = {START: 6.0, ANY: longest}.get(target, 3.0)
        yield Blow(target, chance.uniform(0.1, span), chance.random() < 0.25)


def strike(clone: Clone, blow: Blow, log: Path) -> Round | None:
    """Start, wait, kill, look; None if the run was over before."""
    kind = "" if blow.target in (START, ANY) else blow.target
    begin = time.monotonic()
    with start_flow(clone, log, blow.own_server) as flow:
        while kind and flow.poll() is None and not any(name.startswith(kind) for name in stages_running(clone)):
            time.sleep(0.05)
        aimed = time.monotonic() + blow.delay
        while flow.poll() is None and time.monotonic() < aimed:
            time.sleep(0.01)
        running, over = stages_running(clone), flow.poll() is not None
        flow.kill()
    if over:
        return None
    struck = time.monotonic() - begin
    gone = seconds_until(lambda: not processes_in(clone.root), PATIENCE_SECONDS)
    return Round(blow, struck, running, gone, _status(clone))


def _status(clone: Clone) -> str:
    command = [sys.executable, "-m", "dvc", "status", "--json"]
    done = subprocess.run(command, cwd=clone.root, env=clone.environment(), capture_output=True, text=True, check=False)
    return "works" if done.returncode == 0 else f"fails: {' '.join(done.stderr.split())[:200]}"


def kill_it(clone: Clone, blow: Blow, log: Path) -> Round:
    """A round in which something is hit: where nothing is left to run, all is made anew first."""
    while True:
        kinds = {name.partition("@")[0] for name in stale(clone)}
        if not kinds or blow.target not in kinds | {START, ANY}:
            make_anew(clone)
        if (found := strike(clone, blow, log)) is not None:
            return found


def compare(disturbed: Clone, undisturbed: Clone, log: Path) -> list[str]:
    """Let both finish; how they differ."""
    with start_flow(disturbed, log, own_server=False) as flow:
        if flow.wait() != 0:
            return [f"the last run ended with exit code {flow.returncode}, see {log}"]
    return [*differences(disturbed.root, undisturbed.root), *(f"still stale: {name}" for name in stale(disturbed))]


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if anything is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as name, ExitStack() as owner:
        folder = Path(name)
        server = start_server(folder, owner)
        disturbed, undisturbed = (make_clone(folder / side, server, SUITE) for side in ("disturbed", "undisturbed"))
        begin = time.monotonic()
        undisturbed.run("ebmbench", "run", "--jobs", "2")
        longest = time.monotonic() - begin
        print(f"{options.rounds} rounds, seed {options.seed}; an undisturbed run takes {longest:.0f} s\n")
        print("| round | aimed at | killed at s | running then | processes left | `dvc status` | verdict |")
        print("| ---: | :--- | ---: | :--- | :--- | :--- | :--- |", flush=True)
        good = True
        for number, blow in enumerate(blows(options.rounds, options.seed, longest), 1):
            found = kill_it(disturbed, blow, folder / "flow.log")
            print(found.row(number), flush=True)
            good = good and found.good
        faults = compare(disturbed, undisturbed, folder / "flow.log")
        print("\n" + ("\n".join(faults) or "the result is that of the undisturbed run, byte for byte but for costs"))
    return 0 if good and not faults else 1


if __name__ == "__main__":
    sys.exit(main())

"""Edit a file at a random moment of a run, again and again: `python -m tests.chaos.edits --rounds 30 --seed 0`.

Every round makes all anew in a clone and edits one file while the flow runs: the dataset's source, the method, a
metric, the sampler or `params.yaml`. The edit is undone at a random moment too, or after the run, or it stays. Some
stages then fail, and rightly so. When the flow has been run again to its end, everything must be what a run that nobody
disturbed makes from the same files: models, samples and all numbers, byte for byte.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pipelines.flows.server import start_server
from tests.chaos.clone import make_anew, start_flow
from tests.chaos.same import differences
from tests.workflow.conftest import Clone, make_clone

SUITE = """\
# For scripts that edit: one cell with a dataset of its own.
benchmark:
  suite: tiny
  seeds: [0]
  datasets: [mine]
  methods: [dsm]
  metrics: [kl, mmd]
training: {budget: 100_000, rows: 20, snapshots: [0.5]}
sampling: {chains: 1_000, sampler: {steps: 100}}
metrics: {cells: 128, block: 500}
datasets:
  mine: {source: mine.py, train: 20_000, test: 2_000}
methods: {dsm: {sigma: 0.1}}
"""
SOURCE = """\
import torch

from ebmbench.data.common.densities import Mixture


def density():
    return Mixture(torch.tensor([[-1.0, 0.0], [1.0, 0.5]]).double(), torch.ones(2), deviation=0.4)
"""
EDITS = {
    "source": ("mine.py", "deviation=0.4", "deviation=0.8"),
    "method": ("ebmbench/methods/dsm.py", "return 0.5 * (s + noise", "return 2.5 * (s + 0.5 * noise"),
    "metric": ("ebmbench/metrics/kl.py", "return Value(e.grid", "return Value(1000 * e.grid"),
    "sampler": ("ebmbench/samplers/mala.py", "jump = noise.normal * self.root", "jump = noise.normal * self.root * 2"),
    "params": ("params.yaml", "sigma: 0.1", "sigma: 0.4"),
}
DURING, AFTER, NEVER = "during the run", "after the run", "never"
TRIES = 4


@dataclass(frozen=True)
class Blow:
    """What is edited, after how many seconds, and when that is undone."""

    edit: str
    at: float
    undone: str
    for_seconds: float


def blows(rounds: int, seed: int, longest: float) -> list[Blow]:
    """Each file as often as the others, at times that the seed chooses."""
    dice = random.Random(seed)
    edits = [list(EDITS)[number % len(EDITS)] for number in range(rounds)]
    dice.shuffle(edits)
    ends = (DURING, DURING, AFTER, NEVER)
    return [
        Blow(
            edit, dice.uniform(0.5, longest), dice.choice(ends), dice.choice([0.1, 0.5, 2.0, dice.uniform(0, longest)])
        )
        for edit in edits
    ]


def apply(clone: Clone, edit: str, undo: bool = False) -> None:
    """Edit the file, or undo the edit."""
    path, old, new = EDITS[edit]
    clone.edit(path, new, old) if undo else clone.edit(path, old, new)


def disturbed(clone: Clone, blow: Blow, log: Path) -> int:
    """Make all anew with the edit in the middle; the exit code."""
    make_anew(clone)
    with start_flow(clone, log, own_server=False) as flow:
        _wait(flow, blow.at)
        apply(clone, blow.edit)
        if blow.undone == DURING:
            _wait(flow, blow.for_seconds)
            apply(clone, blow.edit, undo=True)
        code = flow.wait()
    if blow.undone == AFTER:
        apply(clone, blow.edit, undo=True)
    return code


def _wait(flow: "subprocess.Popen[bytes]", seconds: float) -> None:
    until = time.monotonic() + seconds
    while flow.poll() is None and time.monotonic() < until:
        time.sleep(0.02)


def finished(clone: Clone, log: Path) -> str | None:
    """Run until nothing is to do; what is wrong if that does not come."""
    for _ in range(TRIES):
        with start_flow(clone, log, own_server=False) as flow:
            code = flow.wait()
        if code == 0:
            return None
    return f"the last run ended with exit code {code}, see {log}"


class References:
    """Clones that nobody has disturbed, one for each state of the files."""

    def __init__(self, folder: Path, clone: Clone, log: Path) -> None:
        self.folder, self.clone, self.log = folder, clone, log

    def of(self, edit: str) -> Path:
        """What a run makes with this edit ("" for none), made once."""
        place = self.folder / f"reference-{edit or 'none'}"
        if not place.exists():
            make_anew(self.clone)
            if edit:
                apply(self.clone, edit)
            assert finished(self.clone, self.log) is None
            if edit:
                apply(self.clone, edit, undo=True)
            for name in ("runs", "reports"):
                shutil.copytree(self.clone.root / name, place / name)
        return place


def play(clone: Clone, blow: Blow, references: References, log: Path) -> tuple[int, list[str]]:
    """One round: the exit code of the disturbed run, and what is wrong in the end."""
    stays = blow.edit if blow.undone == NEVER else ""
    reference = references.of(stays)
    code = disturbed(clone, blow, log)
    try:
        wrong = finished(clone, log)
        return code, [wrong] if wrong else differences(clone.root, reference)
    finally:
        if stays:
            apply(clone, stays, undo=True)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if any number is another one."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.edits", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as name, ExitStack() as owner:
        folder, log = Path(name), Path(name) / "flow.log"
        server = start_server(folder, owner)
        clones = [make_clone(folder / side, server, SUITE) for side in ("disturbed", "undisturbed")]
        for clone in clones:
            (clone.root / "mine.py").write_text(SOURCE, encoding="utf-8")
        clone, references = clones[0], References(folder, clones[1], log)
        begin = time.monotonic()
        references.of("")
        longest = time.monotonic() - begin
        print(f"{options.rounds} rounds, seed {options.seed}; an undisturbed run takes {longest:.0f} s\n")
        print("| round | edited | at s | undone | that run's exit code | in the end |")
        print("| ---: | :--- | ---: | :--- | ---: | :--- |", flush=True)
        bad = 0
        for number, blow in enumerate(blows(options.rounds, options.seed, longest), 1):
            code, wrong = play(clone, blow, references, log)
            undone = f"after {blow.for_seconds:.1f} s" if blow.undone == DURING else blow.undone
            outcome = f"**{'; '.join(wrong[:3])}**" if wrong else "as if undisturbed"
            print(f"| {number} | {blow.edit} | {blow.at:.1f} | {undone} | {code} | {outcome} |", flush=True)
            bad += bool(wrong)
            if wrong:
                shutil.copyfile(log, Path(tempfile.gettempdir()) / "chaos-edits.log")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

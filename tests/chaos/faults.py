"""Injects faults into a real project and prints a Markdown table: fault, times tried, outcome.

    python -m tests.chaos.faults --seed 0

Every try runs a real command. It must end with the right exit code and, if it fails, with one line; no finished result
and no file of the user's may change. Ends with 1 if anything else happens.
"""

import argparse
import json
import os
import pickle
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ebmbench.workspace.layout import FAILURES
from tests.chaos.project import PARAMS, Ended, Project

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
JUMPS = """\
import itertools, random, time
real, jumps = time.time, random.Random(0)
time.time = lambda: real() + jumps.choice([-1e9, -3600, 0, 3600, 1e9])
"""
MODEL = "runs/tiny/mine/dsm/train/seed=0/model.safetensors"
Fault = Callable[[Project, random.Random], str | None]


class NotTried(Exception):
    """This machine does not let the fault be injected."""


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (os.system, ("touch trapped",))


def damaged(body: bytes, dice: random.Random) -> bytes:
    """Cut short, some bytes changed, or something else altogether."""
    kind = dice.randrange(4)
    if kind == 0:
        return body[: dice.randrange(len(body))]
    if kind == 1:
        return pickle.dumps(Trap())
    if kind == 2:
        return bytes(dice.randrange(256) for _ in range(dice.randrange(1, 200)))
    changed = bytearray(body)
    for _ in range(5):
        changed[dice.randrange(min(len(body), 100))] = dice.randrange(256)
    return bytes(changed)


def params_damaged(project: Project, dice: random.Random) -> str | None:
    """A character of params.yaml replaced, or its end lost: harmless, or told."""
    at = dice.randrange(len(PARAMS))
    tail = "" if dice.random() < 0.3 else PARAMS[at + 1 :]
    body = (PARAMS[:at] + dice.choice("[]{}:&*!\t\x00é9") + tail).encode()
    return _with(project, "params.yaml", body, lambda: project.ebmbench("run", "--dry-run").complaint(0, 2))


def params_hostile(project: Project, dice: random.Random) -> str | None:
    """Aliases of aliases, brackets without end, bytes, a name that leaves the folder, a number of 5000 digits."""
    bodies = [BOMB + PARAMS, PARAMS + "x: " + "[" * 100_000, "\0\1\2", PARAMS.replace("tiny", "../../x")]
    bodies += [PARAMS.replace("mine.npy", "../../etc/x.npy"), PARAMS.replace("4000", "9" * 5000), ""]
    body = dice.choice(bodies).encode()
    return _with(project, "params.yaml", body, lambda: project.ebmbench("run").complaint(2))


def array_damaged(project: Project, dice: random.Random) -> str | None:
    """A dataset of NumPy's cut short, changed, or a pickle: what was prepared before stays."""
    body = damaged((project.root / "mine.npy").read_bytes(), dice)
    return _with(project, "mine.npy", body, lambda: project.ebmbench("prepare", "mine").complaint(2))


def idx_damaged(project: Project, dice: random.Random) -> str | None:
    """MNIST's files cut short or of another format, with the check of sums turned off."""
    from tests.data.originals import write_idx

    folder = project.home / "mnist"
    write_idx(folder)
    file = dice.choice(sorted(folder.iterdir()))
    file.write_bytes(damaged(file.read_bytes(), dice))
    ended = project.ebmbench("prepare", "mnist", EBMBENCH_DATA=str(project.home), EBMBENCH_DATA_UNVERIFIED="1")
    lines = [line for line in ended.error.splitlines() if not line.startswith("warning: ")]
    return Ended(ended.code, ended.out, "\n".join(lines)).complaint(2)


def model_damaged(project: Project, dice: random.Random) -> str | None:
    """A finished model cut short, changed, or a pickle in disguise."""
    body = damaged((project.root / MODEL).read_bytes(), dice)
    return _with(project, MODEL, body, lambda: project.ebmbench("sample", "mine", "dsm", "--fresh").complaint(0, 2))


def lock_damaged(project: Project, dice: random.Random) -> str | None:
    """dvc.lock with the marks of a merge, cut short, of bytes, or gone."""
    whole = "schema: '2.0'\nstages:\n  prepare@mine:\n    cmd: python\n"
    whole += "    outs:\n    - path: prepared/mine\n      md5: a.dir\n"
    marks = f"<<<<<<< HEAD\n{whole}=======\n{whole}>>>>>>> other\n"
    body = dice.choice([marks.encode(), whole[: dice.randrange(20, 90)].encode(), b"\xff\xfe\0", b"[1, 2]", None])
    return _with(project, "dvc.lock", body, lambda: project.ebmbench("run", "--dry-run").complaint(0, 2))


def no_space(project: Project, dice: random.Random) -> str | None:
    """No file may grow beyond a few bytes: the system refuses the write, as a full disk does."""
    limit = dice.choice([0, 100, 1000, 2000])
    command = [sys.executable, "-m", "ebmbench.stages.prepare", "mine"]
    return project.run(command, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))).complaint(1)


def full_disk(project: Project, dice: random.Random) -> str | None:
    """prepared/ on a disk of its own that is full."""
    with _mounted(project.root / "prepared", "size=64k"):
        (project.root / "prepared" / "filler").write_bytes(b"\0" * (60 << 10))
        return project.ebmbench("prepare", "mine").complaint(1)


def read_only(project: Project, dice: random.Random) -> str | None:
    """prepared/ or work/ on a disk that is read-only."""
    with _mounted(project.root / dice.choice(["prepared", "work"]), "ro"):
        return project.ebmbench("prepare", "mine").complaint(1)


def clock_jumps(project: Project, dice: random.Random) -> str | None:
    """A clock that leaps by decades at every look, files from the future: the same bytes."""
    (project.home / "jumps").mkdir(parents=True, exist_ok=True)
    (project.home / "jumps" / "sitecustomize.py").write_text(JUMPS, encoding="utf-8")
    then = dice.choice([0, 4e9])
    for file in (project.root / "prepared").rglob("*"):
        os.utime(file, (then, then))
    path = f"{project.home / 'jumps'}{os.pathsep}{project.root}"
    return project.ebmbench("train", "mine", "dsm", "--fresh", PYTHONPATH=path).complaint(0)


def other_locale(project: Project, dice: random.Random) -> str | None:
    """A terminal that knows ASCII only."""
    words = dice.choice([["list"], ["--help"], ["suite", "list"], ["report"], ["run", "--help"]])
    return project.ebmbench(*words, **LOCALE).complaint(0)


def code_crashes(project: Project, dice: random.Random) -> str | None:
    """A user's own function raises: one line, and its traceback in a file for the author."""
    wrong = project.ebmbench("prepare", "crash").complaint(1)
    kept = project.root / "work" / "failures" / "prepare_crash.log"
    return wrong or (None if "crash.py" in kept.read_text(encoding="utf-8") else "the traceback is lost")


def key_missing(project: Project, dice: random.Random) -> str | None:
    """A key with a default that DVC needs all the same: told before anything runs, not after the training."""
    line = dice.choice(["claims: {}\n", "data: {}\n", "features: {}\n", "metrics: {health: {}}\n", ", claims: []"])
    body = PARAMS.replace(line, "").encode()
    words = dice.choice([["run", "--dry-run"], ["run"], ["train", "mine", "dsm"]])
    needed = line != "claims: {}\n"  # by stages that this suite has none of
    codes = (2,) if needed else (0,) if words != ["run"] else None
    act = (lambda: None) if codes is None else (lambda: project.ebmbench(*words).complaint(*codes))
    return _with(project, "params.yaml", body, act)


def input_in_output(project: Project, dice: random.Random) -> str | None:
    """A source, a data root or weights where the program removes files: refused at planning."""
    places = ("work", "runs/tiny", "reports", "prepared", "features/mine")
    place = dice.choice(places)
    kinds = [PARAMS.replace("mine.npy", f"{place}/mine.npy"), PARAMS.replace("data: {}", f"data: {{root: {place}}}")]
    kinds += [PARAMS.replace("health: {}", f"health: {{}}, inception_weights: {place}/x.pth")]
    body = dice.choice(kinds).encode()
    return _with(project, "params.yaml", body, lambda: project.ebmbench("run").complaint(2))


def files_of_the_user(project: Project, dice: random.Random) -> str | None:
    """Files of the user's in every folder that is written: `clean` and a stage by DVC leave them where they are."""
    places = ["data/mine/raw.npy", "data/mnist/notes.txt", "work/mine.npy", "work/flow/notes.md", "runs/tiny/notes.md"]
    places += ["runs/tiny/mine/dsm/notes.md", "runs/tiny/gone/dsm/mine.npy", "features/notes.md", "prepared/notes.md"]
    for place in places:
        (project.root / place).parent.mkdir(parents=True, exist_ok=True)
        (project.root / place).write_text(place, encoding="utf-8")
    if dice.random() < 0.5:
        wrong = project.ebmbench("clean", *dice.choice([[], ["--all"]])).complaint(0)
    else:
        ended = project.run([sys.executable, "-m", "dvc", "repro", "--single-item", "--force", "prepare@mine"])
        wrong = None if ended.code == 0 else ended.error[-200:]
    lost = [place for place in places if not (project.root / place).is_file()]
    return wrong or (f"lost: {lost}" if lost else None)


def stranger_in_output(project: Project, dice: random.Random) -> str | None:
    """A file of the user's inside a folder that DVC would empty: the run is refused, and names it."""
    place = dice.choice(["prepared/mine", "runs/tiny/mine/dsm/train", "runs/tiny/mine/dsm/train/seed=0"])
    path = project.root / place / "mine.npy"
    path.write_text("mine", encoding="utf-8")
    try:
        ended = project.ebmbench(*dice.choice([["run"], ["prepare", "mine"] if "train" not in place else ["run"]]))
        wrong = ended.complaint(2) or (None if "mine.npy" in ended.error else f"not named: {ended.error}")
        return wrong or (None if path.exists() else "it is gone")
    finally:
        path.unlink(missing_ok=True)


def status_damaged(project: Project, dice: random.Random) -> str | None:
    """status.json empty, cut short, or with names that lead out of the project: told in one line by who reads it."""
    name = "runs/tiny/mine/dsm/train/seed=0/status.json"
    whole = (project.root / name).read_bytes()
    digest = whole.partition(b'"digest": "')[2][:16]
    bodies = [b"", whole[: len(whole) // 2], whole.replace(digest, b"../../outside"), b"[]", b"{}"]
    body = dice.choice([*bodies, whole.replace(b'"seed=0"', b'"../seed=0"')])
    wrong = _with(project, name, body, lambda: project.ebmbench("sample", "mine", "dsm").complaint(2))
    return wrong or ("written outside" if list(project.root.parent.glob("outside*")) else None)


def digit_changed(project: Project, dice: random.Random) -> str | None:
    """One digit of a finished result in work/, the length as before: it is made anew, to the same bytes."""
    project.ebmbench("train", "mine", "dsm")  # `clean` may have freed it
    file = dice.choice(sorted((project.root / "work").glob("*/done/history.csv")))
    text = file.read_text(encoding="utf-8")
    places = [place for place, sign in enumerate(text) if sign.isdigit()]
    place = dice.choice(places)
    file.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :], encoding="utf-8")
    wrong = project.ebmbench("train", "mine", "dsm").complaint(0)
    return wrong or (None if file.read_text(encoding="utf-8") == text else "the changed digit was taken")


def lock_of_another(project: Project, dice: random.Random) -> str | None:
    """DVC's table of locks names a process that ended, whose number another one has now."""
    table = project.root / ".dvc" / "tmp" / "rwlock"
    table.parent.mkdir(parents=True, exist_ok=True)
    who = {"pid": os.getpid(), "cmd": "/usr/bin/dvc repro --single-item train@mine-dsm"}
    paths = [str(project.root / "prepared" / "mine"), str(project.root / "runs")]
    entry = {"write": who} if dice.random() < 0.5 else {"read": [who]}
    table.write_text(json.dumps({dice.choice(paths): entry}), encoding="utf-8")
    return project.ebmbench("run", "--dry-run").complaint(0)


def seed_beyond(project: Project, dice: random.Random) -> str | None:
    """A seed that floating point cannot tell from its neighbour."""
    seed = dice.choice([2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64])
    body = PARAMS.replace("seeds: [0]", f"seeds: [0, {seed}]").encode()
    return _with(project, "params.yaml", body, lambda: project.ebmbench("run").complaint(2))


def undeclared(project: Project, dice: random.Random) -> str | None:
    """A dataset that imports or reads what DVC does not see: refused, with what to do."""
    (project.root / "helper.py").write_text("X = 2\n", encoding="utf-8")
    bodies = ["import helper\n", "open('mine.npy', 'rb').close()\n", "import json; json.load(open('package.json'))\n"]
    (project.root / "package.json").write_text("{}", encoding="utf-8")
    tail = "import torch\ndef sample(count, generator):\n    return torch.randn(count, 2, generator=generator)\n"
    body = (dice.choice(bodies) + tail).encode()
    return _with(project, "crash.py", body, lambda: project.ebmbench("prepare", "crash").complaint(2))


FAULTS: dict[str, Fault] = {
    "params.yaml damaged": params_damaged,
    "params.yaml hostile": params_hostile,
    "dataset of NumPy damaged": array_damaged,
    "idx files damaged": idx_damaged,
    "finished model damaged": model_damaged,
    "dvc.lock damaged or lost": lock_damaged,
    "no space for any file": no_space,
    "full disk": full_disk,
    "read-only disk": read_only,
    "clock that jumps": clock_jumps,
    "locale without UTF-8": other_locale,
    "a user's code crashes": code_crashes,
    "a key that DVC needs is missing": key_missing,
    "an input among the outputs": input_in_output,
    "files of the user's in folders that are written": files_of_the_user,
    "a file of the user's inside an output": stranger_in_output,
    "status.json damaged or hostile": status_damaged,
    "a digit of a finished result changed": digit_changed,
    "a lock of a process that is another one now": lock_of_another,
    "a seed beyond 2⁵³": seed_beyond,
    "a dataset that reads what DVC does not see": undeclared,
}


def _with(project: Project, name: str, body: bytes | None, act: Callable[[], str | None]) -> str | None:
    """Act while a file is another one, which must still be there afterwards."""
    undo = project.swapped(name, body)
    try:
        wrong = act()
        path = project.root / name
        same = (path.read_bytes() if path.is_file() else None) == body
        return wrong or (None if same else f"{name} was overwritten")
    finally:
        undo()


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[None]:
    """A disk of its own over a folder; only root may do so."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        raise NotTried("needs the right to mount a disk")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def inject(project: Project, fault: Fault, dice: random.Random) -> str | None:
    """One try; what went wrong, if anything did."""
    before = project.kept()
    wrong = fault(project, dice)
    after = project.kept()
    replaced = ("/cost/", f"/{FAILURES}/")  # by every run, and by every failure
    lost = [name for name in before if after.get(name) != before[name] and not any(part in name for part in replaced)]
    return wrong or (f"changed or lost: {', '.join(lost)}" if lost else None)


def main(argv: list[str] | None = None) -> int:
    """Inject all faults and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=5, help="tries of each fault (default: 5)")
    options = parser.parse_args(argv)
    dice, missed = random.Random(options.seed), 0
    print("| fault | times tried | outcome |\n| --- | ---: | --- |")
    with tempfile.TemporaryDirectory(prefix="ebmbench-faults-") as folder:
        project = Project(Path(folder))
        for name, fault in FAULTS.items():
            try:
                wrong = [one for _ in range(options.times) if (one := inject(project, fault, dice)) is not None]
            except NotTried as reason:
                print(f"| {name} | 0 | not tried: {reason} |", flush=True)
                continue
            missed += len(wrong)
            outcome = f"{len(wrong)} missed: {wrong[0]}" if wrong else "right exit code, one line, nothing lost"
            print(f"| {name} | {options.times} | {outcome} |", flush=True)
        if (project.root / "trapped").exists():
            print("| a pickle was loaded | | missed |")
            missed += 1
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

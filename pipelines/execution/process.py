"""Run one command under `guard.py`, and one stage with it: `dvc --wait-for-lock repro --single-item STAGE`.

Without `--wait-for-lock` stages that run at once fail for want of DVC's lock; without `--single-item` they
fail because an unchanged upstream "is busy". What remains of lock errors is tried again; other errors are the
stage's.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from ebmbench.workspace import failures
from ebmbench.workspace.layout import DVC_LOCK, LOGS
from ebmbench.workspace.progress import VARIABLE
from pipelines.display import pulse_of
from pipelines.execution import guard
from pipelines.execution.dvc import DVC, PAUSE_SECONDS, environment, is_lock_error, mended
from pipelines.outcome import FAILED, RAN, RESTORED, SKIPPED, STOPPED, Outcome
from pipelines.planning.lockfile import forget, read_entry, untrue, why_distrusted

Process = subprocess.Popen[bytes]
RETRY_SECONDS = 120.0
_POLL_SECONDS = 0.1
_TRIES = 5  # of a stage whose inputs are edited each time in the moment in which it ends
_LOG_GONE = "its log is gone: work/ was deleted while it ran; run again to make what was lost"


@contextmanager
def guarded(command: list[str], log: Path, root: Path, env: dict[str, str]) -> Iterator[Process]:
    """Start the command, its output appended to `log`; leaving the block stops it if it still runs."""
    theirs, ours = os.pipe()  # no process inherits `ours`, so it closes when this process dies
    with os.fdopen(ours, "wb") as held:
        try:
            process = _launch([str(theirs), *command], log, root, env)
        finally:
            os.close(theirs)
        try:
            yield process
        finally:
            held.close()
            process.wait()


def _launch(arguments: list[str], log: Path, root: Path, env: dict[str, str]) -> Process:
    """In a session of its own: a terminal's Ctrl-C reaches the flow alone, which then stops its stages."""
    log.parent.mkdir(parents=True, exist_ok=True)  # `work/` may have been deleted since
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, *arguments],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            pass_fds=(int(arguments[0]),),
            start_new_session=True,
        )


def run(command: list[str], log: Path, root: Path, stop: Event, variables: Mapping[str, str] = {}) -> int | None:
    """The command's exit code, or None if `stop` was set before it ended."""
    with guarded(command, log, root, {**environment(), **variables}) as process:
        while process.poll() is None:
            if stop.wait(_POLL_SECONDS):
                return None
    return process.returncode


def log_of(stage: str) -> Path:
    """Where a stage's log is, from the workspace."""
    return LOGS / f"{stage.replace(os.sep, '_')}.log"


def reproduce(
    root: Path,
    stage: str,
    stop: Event,
    options: Sequence[str] = ("--single-item",),
    variables: Mapping[str, str] = {},
    force: bool = False,
) -> Outcome:
    """Let DVC bring one stage up to date; unless the options say otherwise, its upstreams are taken as they are.

    Where DVC then names other inputs than the stage has used, it is made again with those that are there now.
    """
    log = log_of(stage)
    (root / log).unlink(missing_ok=True)
    failures.clear(root, stage)  # a stage that cannot even start must not be explained by what an earlier try said
    start = time.monotonic()
    with pulse_of(root, stage) as pulse:
        kind = _made(root, stage, stop, [*options], {**variables, VARIABLE: str(pulse)}, force)
    text = _read(root / log)
    if kind == RAN and text is not None:
        kind = what_happened(stage, text)
    cause = (complaint(text) if text is not None else _LOG_GONE) if kind == FAILED else None
    return Outcome(kind, seconds=round(time.monotonic() - start, 3), log=log.as_posix(), cause=cause)


def _made(root: Path, stage: str, stop: Event, options: list[str], variables: Mapping[str, str], force: bool) -> str:
    """How it ended; a stage whose inputs are edited just when it ends, again and again, fails at last."""
    log = root / log_of(stage)
    for _ in range(_TRIES):
        if force:
            forget(root, read_entry(root / DVC_LOCK, stage))
        words = [*options, *(["--force"] if force else []), stage]
        kind = attempts([*DVC, "--wait-for-lock", "repro", *words], log, root, stop, variables)
        names = untrue(root, read_entry(root / DVC_LOCK, stage)) if kind == RAN else []
        if not names:
            return kind
        force = True
        with suppress(OSError), log.open("a", encoding="utf-8") as file:
            file.write(f"error: {why_distrusted(names)}; it is made again\n")
    return FAILED


def attempts(command: list[str], log: Path, root: Path, stop: Event, variables: Mapping[str, str]) -> str:
    """How a `dvc` command ended: ran, failed or stopped; what remains of lock errors is tried again."""
    give_up = time.monotonic() + RETRY_SECONDS
    read = 0
    while not stop.is_set():
        code = run(command, log, root, stop, variables)
        if code is None:
            break
        if code == 0:
            return RAN
        text = _read(log) or ""
        errors, read = _dvc_errors(text[read:]), len(text)
        if mended(root, errors):
            continue
        if not is_lock_error(errors) or time.monotonic() > give_up:
            return FAILED
        stop.wait(PAUSE_SECONDS)
    return STOPPED


def _read(log: Path) -> str | None:
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def what_happened(stage: str, text: str) -> str:
    """From the log of a good end: did it run, did the run-cache have its outputs, or was nothing to do?"""
    name = re.escape(stage)
    if re.search(rf"^Running stage '{name}':", text, re.MULTILINE):
        return RAN
    if re.search(rf"^Stage '{name}' is cached - skipping run", text, re.MULTILINE):
        return RESTORED
    return SKIPPED


def complaint(text: str) -> str | None:
    """The one line in which a stage says what the user should mend, from its log; None if it crashed otherwise."""
    told = re.findall(r"^error: (.+)$", text, re.MULTILINE)
    return told[-1] if told else None


def _dvc_errors(text: str) -> str:
    """DVC's own complaint, which ends the log; what a stage prints about locks does not count."""
    return text[text.rfind("\nERROR: ") + 1 :] if "ERROR: " in text else ""

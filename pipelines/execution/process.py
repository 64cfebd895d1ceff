"""Run a command under `guard.py`, and a stage with it: `dvc --wait-for-lock repro --single-item STAGE`.

Without `--wait-for-lock` stages that run at once fail for want of DVC's lock; without `--single-item` they fail because
an unchanged upstream "is busy". Other lock errors are retried; all other errors are the stage's. With a `WarmDvc` the
same command runs in a fork.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from ebmbench.workspace.failures import failure_of, forget_failure, note_failure
from ebmbench.workspace.layout import DVC_LOCK, LOGS, suite_of
from ebmbench.workspace.progress import VARIABLE
from pipelines.display import progress_file
from pipelines.execution import guard
from pipelines.execution.dvc import DVC, PAUSE_SECONDS, environment, is_lock_error, repair_lock_table
from pipelines.execution.warm import WarmDvc
from pipelines.outcome import FAILED, RAN, RESTORED, SKIPPED, STOPPED, Outcome
from pipelines.planning.lockfile import Entry, describe_mismatch, mismatched_inputs, read_entry, remove_from_run_cache

Process = subprocess.Popen[bytes]
RETRY_SECONDS = 120.0
_POLL_SECONDS = 0.1
_ATTEMPTS = 5  # at a stage whose inputs are edited each time just when it ends
_LOG_GONE = "its log is gone: work/ was deleted while it ran; run again to make what was lost"


@contextmanager
def start_guarded(command: list[str], log: Path, root: Path, env: dict[str, str]) -> Iterator[Process]:
    """Start a command with its output appended to `log`; it is stopped when the block is left."""
    theirs, ours = os.pipe()  # no process inherits `ours`, so it closes when this process dies
    with os.fdopen(ours, "wb") as end:
        try:
            process = _launch([str(theirs), *command], log, root, env)
        finally:
            os.close(theirs)
        try:
            yield process
        finally:
            end.close()
            process.wait()


def _launch(arguments: list[str], log: Path, root: Path, env: dict[str, str]) -> Process:
    """Start the guard in a session of its own: Ctrl-C reaches the flow alone, which then stops its stages."""
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


def run_guarded(
    command: list[str], log: Path, root: Path, stop: Event, variables: Mapping[str, str] = {}
) -> int | None:
    """Run a command to its end and return its exit code; None if `stop` was set before."""
    with start_guarded(command, log, root, {**environment(), **variables}) as process:
        while process.poll() is None:
            if stop.wait(_POLL_SECONDS):
                return None
    return process.returncode


def log_path(stage: str) -> Path:
    """The log of a stage, relative to the workspace."""
    return LOGS / f"{stage.replace(os.sep, '_')}.log"


def reproduce(
    root: Path,
    stage: str,
    stop: Event,
    options: Sequence[str] = ("--single-item",),
    variables: Mapping[str, str] = {},
    force: bool = False,
    warm: WarmDvc | None = None,
) -> Outcome:
    """Let DVC bring one stage up to date; with the default options its upstreams are left as they are.

    If `dvc.lock` then names other inputs than the stage has used, the stage runs again with the present ones.
    """
    log = log_path(stage)
    (root / log).unlink(missing_ok=True)
    forget_failure(root, suite_of(root), stage)  # an old reason must not explain a stage that now cannot even start
    start = time.monotonic()
    with progress_file(root, stage) as progress:
        variables = {**variables, VARIABLE: str(progress)}
        dvc = _Dvc(root, stage, stop, variables, warm if warm and warm.is_ready() else None)
        kind = _reproduce(dvc, [*options], force)
    text = _read(root / log)
    if kind == RAN and text is not None:
        kind = classify_log(stage, text)
    cause = (last_error(text) if text is not None else _LOG_GONE) if kind == FAILED else None
    if kind == FAILED and not failure_of(root, suite_of(root), stage):  # it could not even start
        note_failure(root, suite_of(root), stage, cause or f"see {log.as_posix()}")
    return Outcome(kind, seconds=round(time.monotonic() - start, 3), log=log.as_posix(), cause=cause)


@dataclass
class _Dvc:
    """How DVC is called for one stage: in a fork, or as a new process."""

    root: Path
    stage: str
    stop: Event
    variables: Mapping[str, str]
    warm: WarmDvc | None

    @property
    def log(self) -> Path:
        return self.root / log_path(self.stage)

    def run(self, words: list[str]) -> int | None:
        words = ["--wait-for-lock", *words]
        if self.warm is not None:
            try:
                return self.warm.run(self.stage, words, self.log, self.stop, self.variables)
            except ConnectionError:  # the process to fork from was killed
                self.warm.entries.write()
                self.warm = None
        return run_guarded([*DVC, *words], self.log, self.root, self.stop, self.variables)

    def read_entry(self) -> Entry:
        return self.warm.entries.read(self.stage) if self.warm else read_entry(self.root / DVC_LOCK, self.stage)


def _reproduce(dvc: _Dvc, options: list[str], force: bool) -> str:
    """Run the stage until `dvc.lock` names the inputs that it used; after some attempts it counts as failed."""
    for _ in range(_ATTEMPTS):
        if force:
            remove_from_run_cache(dvc.root, dvc.read_entry())
        words = ["repro", *options, *(["--force"] if force else []), dvc.stage]
        kind = _retry(partial(dvc.run, words), dvc.log, dvc.root, dvc.stop)
        inputs = mismatched_inputs(dvc.root, dvc.read_entry()) if kind == RAN else []
        if not inputs:
            return kind
        force = True
        with suppress(OSError), dvc.log.open("a", encoding="utf-8") as file:
            file.write(f"error: {describe_mismatch(inputs)}; the stage runs again\n")
    return FAILED


def retry_dvc(words: list[str], log: Path, root: Path, stop: Event, variables: Mapping[str, str]) -> str:
    """Run a `dvc` command, again after lock errors; returns RAN, FAILED or STOPPED."""
    command = [*DVC, "--wait-for-lock", *words]
    return _retry(lambda: run_guarded(command, log, root, stop, variables), log, root, stop)


def _retry(run: Callable[[], int | None], log: Path, root: Path, stop: Event) -> str:
    give_up = time.monotonic() + RETRY_SECONDS
    read = 0
    while not stop.is_set():
        code = run()
        if code is None:
            break
        if code == 0:
            return RAN
        text = _read(log) or ""
        errors, read = _dvc_errors(text[read:]), len(text)
        if repair_lock_table(root, errors):
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


def classify_log(stage: str, text: str) -> str:
    """Tell from the log of a successful stage: it ran, was restored from the run-cache, or was skipped."""
    name = re.escape(stage)
    if re.search(rf"^Running stage '{name}':", text, re.MULTILINE):
        return RAN
    if re.search(rf"^Stage '{name}' is cached - skipping run", text, re.MULTILINE):
        return RESTORED
    return SKIPPED


def last_error(text: str) -> str | None:
    """The last `error: …` line of a log, in which a stage says what to mend; None if it crashed otherwise."""
    errors = re.findall(r"^error: (.+)$", text, re.MULTILINE)
    return errors[-1] if errors else None


def _dvc_errors(text: str) -> str:
    """DVC's own error, which ends the log; what a stage prints about locks does not count."""
    return text[text.rfind("\nERROR: ") + 1 :] if "ERROR: " in text else ""

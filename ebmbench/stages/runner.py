"""What every stage does around its own work.

- One torch thread: several processes of one thread beat one process of several.
- The cell's lock (in `work/`, released by the system when the process ends) keeps two trainings out of one folder.
- Below DVC the stage asks to die with its parent: `kill -9` of `dvc` would otherwise leave it running.
- Inputs are compared at start and end (`inputs.py`), and what they were is recorded (`workspace/record.py`).
- A failure leaves a note for the report (`workspace/failures.py`) and a non-zero exit code for DVC.
- A failure is printed as one line. For an unexpected error, such as one in a method's own code, the line names the file
  with the traceback; `EBMBENCH_DEBUG=1` prints it too.
"""

import argparse
import contextlib
import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from ebmbench.config.params import load_params
from ebmbench.config.schema import known
from ebmbench.errors import UserError, in_words, is_debugging, make_console_safe
from ebmbench.stages.inputs import read_inputs, require_declared, require_keys, require_unchanged
from ebmbench.workspace.failures import noting_failure
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import PARAMS_YAML, REPORT, lock_file, record_file, traceback_file
from ebmbench.workspace.locks import hold
from ebmbench.workspace.reads import forget_reads
from ebmbench.workspace.record import write_record

RESTORE_ONLY = "EBMBENCH_RESTORE_ONLY"  # set where results of other machines are received
Main = Callable[..., int]
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def run_stage(stage: str, work: Callable[[Path], None]) -> int:
    """Run `work(root)` as the stage of that name in the current folder, and return the exit code."""
    root = Path.cwd()
    make_console_safe()
    try:
        if RESTORE_ONLY in os.environ:
            raise UserError(f"{stage}: the remote has no outputs for these inputs, and nothing is to be made here")
        suite = check_names(root, stage)
        _die_with_parent()
        _one_thread()
        forget_reads()
        busy = f"{stage}: another process is running this stage here; wait for it or stop it"
        noting = noting_failure(root, suite, stage) if _is_of_suite(root, stage) else contextlib.nullcontext()
        with hold(lock_file(root, stage), busy), noting:
            require_declared(root, stage)
            before = read_inputs(root, stage)
            work(root)
            require_unchanged(root, stage, before)
            if stage != REPORT:
                write_record(record_file(root, suite, stage), stage, before.params, before.inputs)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{stage}: stopped; the next run goes on from here", file=sys.stderr)
        return 130
    except Exception as error:
        print(f"error: {stage}: {in_words(error)}{_traceback(root, stage, error)}", file=sys.stderr)
        return 1
    return 0


def stage_main(kind: str, work: Callable[..., None], description: str | None, *names: str, fresh: bool = False) -> Main:
    """The `main` of a stage: `python -m ebmbench.stages.<kind> NAME...` calls `work(root, *names)`.

    With `fresh` there is an option `--fresh`, which is handed on to `work`.
    """

    def main(argv: list[str] | None = None) -> int:
        parser = argparse.ArgumentParser(f"python -m ebmbench.stages.{kind}", description=description)
        for name in names:
            parser.add_argument(name)
        if fresh:
            parser.add_argument("--fresh", action="store_true", help="make everything anew, even what work/ still has")
        given = vars(parser.parse_args(argv))
        options = {"fresh": given.pop("fresh")} if fresh else {}
        stage = "@".join(filter(None, [kind, "-".join(given.values())]))
        return run_stage(stage, lambda root: work(root, *given.values(), **options))

    return main


def _is_of_suite(root: Path, stage: str) -> bool:
    """Whether the report shows what became of a stage. DVC prepares all datasets, also those of no cell."""
    kind, _, dataset = stage.partition("@")
    return kind != "prepare" or dataset in load_params(root).benchmark.datasets


def check_names(root: Path, stage: str) -> str:
    """Refuse bad parameters and unknown cells before anything is locked, read or written; the suite's name."""
    params = load_params(root)
    require_keys(root)
    kind, _, cell = stage.partition("@")
    if kind == "claim":
        known(cell, params.benchmark.claims, PARAMS_YAML, "benchmark.claims")
        return params.benchmark.suite
    dataset, _, method = cell.partition("-")
    if dataset:
        known(dataset, params.datasets, PARAMS_YAML, "datasets")
    if method:
        known(method, params.methods, PARAMS_YAML, "methods")
    return params.benchmark.suite


def _traceback(root: Path, stage: str, error: Exception) -> str:
    """Write the traceback to a file and say where; a full disk or a lack of memory needs none."""
    if is_debugging():
        traceback.print_exception(error)
    if isinstance(error, OSError | MemoryError):
        return ""
    path = traceback_file(root, stage)
    with contextlib.suppress(OSError):
        text = "".join(traceback.format_exception(error))
        write_text(path, text.encode("utf-8", "backslashreplace").decode("utf-8"))
        return f" (traceback: {path.relative_to(root).as_posix()})"
    return ""


def _one_thread() -> None:
    # Sums over another number of threads round differently: one is also what makes results the same everywhere.
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _die_with_parent() -> None:
    # Only below DVC: a stage started by hand may well be meant to outlive its terminal.
    if sys.platform == "linux" and "DVC_STAGE" in os.environ:
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died in between
            os.kill(os.getpid(), signal.SIGKILL)

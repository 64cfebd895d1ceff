"""Run a command and print, as JSON, what it and all its descendants took: wall, core-seconds and peak memory.

    python process_tree.py --log out.log --core 0 -- python -m ebmbench run

This process adopts orphans of the command (Linux: PR_SET_CHILD_SUBREAPER), so that their time counts too. What still
runs ten seconds after the command's end is killed. If this process is interrupted, the command is stopped. Memory is
the sum of PSS: pages that processes share count once. The file is run as a script, in the environment of the command,
so it imports nothing of this project.
"""

import argparse
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import psutil

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
LOOK_SECONDS, MEMORY_SECONDS, GRACE_SECONDS = 0.02, 0.5, 10.0


def measure(command: list[str], log: Path, core: int | None = None) -> dict[str, float]:
    """Run the command, its output in `log`, on one core if it is given."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    before = _children_seconds()
    with log.open("wb") as file:
        start = time.perf_counter()
        process = _start(command, file, core)
        try:
            peak = _watch(process.pid)
        except KeyboardInterrupt:  # also if the benchmark was killed
            process.terminate()
            raise
        finally:
            wall = time.perf_counter() - start
            code = process.wait()
            _reap_orphans()
    return {"code": code, "wall": wall, "cpu": _children_seconds() - before, "peak_mb": peak}


def _start(command: list[str], file: IO[bytes], core: int | None) -> "subprocess.Popen[bytes]":
    own = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})  # which the command inherits
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    finally:
        os.sched_setaffinity(0, own)


def _watch(pid: int) -> float:
    """Wait for the process to end; reap the orphans it leaves meanwhile. Return the peak memory in MiB."""
    peak, look = 0.0, 0.0
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None and ended.si_pid == pid:
            return peak
        if ended is not None:
            os.waitpid(ended.si_pid, 0)
        elif (now := time.monotonic()) >= look:
            peak, look = max(peak, _memory()), now + MEMORY_SECONDS
        else:
            time.sleep(LOOK_SECONDS)


def _memory() -> float:
    """The memory of all descendants now, in MiB."""
    return sum(_pss(child.pid) for child in psutil.Process().children(recursive=True)) / 1024


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    except OSError:  # it has ended
        return 0


def _reap_orphans() -> None:
    give_up = time.monotonic() + GRACE_SECONDS
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(LOOK_SECONDS)
        if time.monotonic() > give_up:
            for child in psutil.Process().children(recursive=True):
                child.kill()


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Measure the command of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, required=True, help="file for the command's output")
    parser.add_argument("--core", type=int, help="run the command on this core only")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    print(json.dumps(measure(options.command, options.log, options.core)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Experiments beside the benchmark: `ebmbench claims` tests claims of papers, `ebmbench tune` searches for defaults."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, at_least, find_root
from ebmbench.errors import UserError, nearest
from ebmbench.workspace.code_hash import freeze
from ebmbench.workspace.layout import TESTED_CLAIMS, lock_file

CLAIMS_TEXT = "List the literature's claims, or put some to the test (all of them: ebmbench run --suite claims)"
CLAIMS_EXAMPLE = (
    "ebmbench claims | ebmbench claims run adance_one_is_mle | ebmbench claims run nce_learns_log_z --first 5000"
)
TUNE_TEXT = "Search for the methods' default settings, with the same number of trials for each method"


def add_commands(commands: Any) -> None:
    """Register `claims` and `tune`."""
    command = add_command(commands, "claims", CLAIMS_TEXT, CLAIMS_EXAMPLE, claims)
    command.add_argument("action", nargs="?", choices=["list", "run"], default="list")
    command.add_argument("names", nargs="*", metavar="NAME", help="run: which claims, files of ebmbench/claims")
    command.add_argument("--first", type=at_least(0), metavar="SEED", help="the first seed (default: claims.first)")
    command.add_argument("--fresh", action="store_true", help="measure everything anew, even what work/ still has")

    command = add_command(commands, "tune", TUNE_TEXT, "ebmbench tune mle dsm --jobs 2", tune)
    command.add_argument("methods", nargs="*", metavar="METHOD", help="default: all methods of the space")
    command.add_argument("--jobs", type=at_least(1), help="searches at a time (default: one per core)")
    command.add_argument(
        "--space",
        metavar="FILE",
        help="what to search (default: suites/tuning/space.yaml); the report of a file elsewhere goes to work/tuning",
    )


def claims(arguments: argparse.Namespace) -> int:
    """List the claims, or test some of them."""
    from ebmbench.config.registry import describe, entries

    if arguments.action == "list":
        width = max(map(len, entries("claims")), default=0)
        for entry in entries("claims").values():
            print(f"{entry.name:<{width}}  {entry.title} ({', '.join([entry.paper, *entry.links])})")
        return 0
    if not arguments.names:
        raise UserError("claims run: found no name, allowed: names that `ebmbench claims` lists")
    for name in arguments.names:
        describe("claims", name)
    if arguments.own_process:
        freeze(find_root())  # results are stored by their code, so no edit may come in between
    return _test_claims(find_root(), arguments)


def _test_claims(root: Path, arguments: argparse.Namespace) -> int:
    import torch

    from ebmbench.claims.testing.bench import Bench
    from ebmbench.claims.testing.record import render_record, run_claim
    from ebmbench.config.params import load_params
    from ebmbench.workspace.locks import hold

    torch.set_num_threads(1)  # sums over another number of threads round differently
    first = load_params(root).claims.first if arguments.first is None else arguments.first
    bench = Bench(root, arguments.fresh)
    for name in arguments.names:
        busy = f"{name}: another process is testing this claim here; wait for it or stop it"
        with hold(lock_file(root, f"claim@{name}"), busy):  # so that `ebmbench clean` does not remove its files
            record = run_claim(name, first, None, bench)
            record.save(root / TESTED_CLAIMS / name)
        print(render_record(record))
        print(f"  files: {(TESTED_CLAIMS / name).as_posix()}/\n")
    return 0


def tune(arguments: argparse.Namespace) -> int:
    """Search, write the report, and print the best settings."""
    from ebmbench.tuning.run import tune
    from ebmbench.tuning.space import SPACE, load_plan

    plan = load_plan(Path.cwd(), arguments.space or SPACE)
    for method in arguments.methods:
        if method not in plan.space.methods:
            raise UserError(f"{plan.file}: methods: found no '{method}', {nearest(method, plan.space.methods)}")
    methods = [method for method in plan.space.methods if method in arguments.methods or not arguments.methods]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    result = tune(plan, methods, arguments.jobs or cores)
    print(result.snippet)
    print(f"report: {result.report}")
    for failure in result.failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if result.failures else 0

"""`ebmbench tune`: the equal search for defaults, and its table and report."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command
from ebmbench.errors import UserError, nearest


def add(commands: Any) -> None:
    """Register the command."""
    text = "Search for the methods' defaults, with the same number of trials for each"
    command = add_command(commands, "tune", text, "ebmbench tune mle dsm --jobs 2", act)
    command.add_argument("methods", nargs="*", metavar="METHOD", help="default: all methods of the space")
    command.add_argument("--jobs", type=_positive, help="searches at a time (default: one per core)")
    command.add_argument("--space", metavar="FILE", help="what to search (default: suites/tuning/space.yaml)")


def act(arguments: argparse.Namespace) -> int:
    """Search, write reports/tuning/, and print the winners."""
    from ebmbench.tuning.run import tune
    from ebmbench.tuning.space import SPACE, load_plan

    plan = load_plan(Path.cwd(), arguments.space or SPACE)
    for method in arguments.methods:
        if method not in plan.space.methods:
            raise UserError(f"{plan.file}: methods: found no '{method}', {nearest(method, plan.space.methods)}")
    methods = [method for method in plan.space.methods if method in arguments.methods or not arguments.methods]
    result = tune(plan, methods, arguments.jobs or _cores())
    print(result.snippet)
    print(f"report: {result.report}")
    for failure in result.failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if result.failures else 0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"found {value}, allowed: 1 or more")
    return value

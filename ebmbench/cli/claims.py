"""`ebmbench claims`: put claims of the literature to the test, one by one; the suite `claims` runs them all."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command, project
from ebmbench.errors import UserError
from ebmbench.workspace.code_hash import freeze
from ebmbench.workspace.layout import TESTED_CLAIMS, lock_file

TEXT = "List the literature's claims, or put some to the test (all of them: ebmbench run --suite claims)"
EXAMPLE = "ebmbench claims | ebmbench claims run adance_one_is_mle | ebmbench claims run nce_learns_log_z --first 5000"


def add(commands: Any) -> None:
    """Register the command."""
    command = add_command(commands, "claims", TEXT, EXAMPLE, act)
    command.add_argument("action", nargs="?", choices=["list", "run"], default="list")
    command.add_argument("names", nargs="*", metavar="NAME", help="run: which claims, files of ebmbench/claims")
    command.add_argument("--first", type=_seed, metavar="SEED", help="the first seed (default: claims.first)")
    command.add_argument("--fresh", action="store_true", help="measure everything anew, even what work/ still has")


def act(arguments: argparse.Namespace) -> int:
    """List, or measure and decide."""
    from ebmbench.config.registry import describe, entries

    if arguments.action == "list":
        width = max(map(len, entries("claims")), default=0)
        for entry in entries("claims").values():
            print(f"{entry.name:<{width}}  {entry.title} ({entry.paper})")
        return 0
    if not arguments.names:
        raise UserError("claims run: found no name, allowed: names that `ebmbench claims` lists")
    for name in arguments.names:
        describe("claims", name)
    if arguments.own_process:
        freeze(project())  # what is measured is found again by its code, so no edit may come in between
    return _run(project(), arguments)


def _run(root: Path, arguments: argparse.Namespace) -> int:
    import torch

    from ebmbench.claims.testing.bench import Bench
    from ebmbench.claims.testing.record import put_to_test, told
    from ebmbench.config.params import load_params
    from ebmbench.workspace.locks import hold

    torch.set_num_threads(1)  # sums over another number of threads round differently
    first = load_params(root).claims.first if arguments.first is None else arguments.first
    for name in arguments.names:
        busy = f"{name}: another process is testing this claim here; wait for it or stop it"
        with hold(lock_file(root, f"claim@{name}"), busy):  # `ebmbench clean` must not take away what is being made
            account = put_to_test(name, first, None, Bench(root, arguments.fresh))
            account.save(root / TESTED_CLAIMS / name)
        print(told(account))
        print(f"  files: {(TESTED_CLAIMS / name).as_posix()}/\n")
    return 0


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"found '{text}', allowed: a whole number, 0 or more")
    return int(text)

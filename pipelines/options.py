"""The options of a run, the same for `ebmbench run` and `python -m pipelines.benchmark`."""

import argparse

from ebmbench.errors import UserError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options of a run."""
    add_selection(parser)
    failure = parser.add_mutually_exclusive_group()
    failure.add_argument(
        "--keep-going",
        dest="keep_going",
        action="store_true",
        default=True,
        help="after a failure, go on with all stages that do not need the failed one (the default)",
    )
    failure.add_argument(
        "--fail-fast", dest="keep_going", action="store_false", help="after a failure, start nothing more"
    )
    parser.add_argument(
        "--runner",
        choices=["local", "dask"],
        help="where stages run: on this machine (the default) or on the workers of a Dask scheduler",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of the Dask scheduler, as tcp://127.0.0.1:8786; implies --runner dask",
    )
    parser.add_argument("--no-report", dest="report", action="store_false", help="leave the report as it was")
    parser.add_argument("--dry-run", action="store_true", help="print what would run and why; run nothing")
    parser.add_argument("--wait", action="store_true", help="if another run is active here, wait until it has ended")
    parser.add_argument(
        "--json", action="store_true", help="print the outcome as one JSON object on stdout, all else on stderr"
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add `--jobs` and `--only`, which `ebmbench serve` has too."""
    parser.add_argument("--jobs", type=_positive, metavar="N", help="stages at a time (default: one per core)")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="METHOD/DATASET",
        help="only these cells, what they need, and the report; METHOD or /DATASET alone means all its cells, "
        "* is a wildcard; may be repeated",
    )


def scheduler_of(options: argparse.Namespace) -> str | None:
    """The address of the Dask scheduler, or None to run on this machine."""
    if options.runner == "dask" and not options.scheduler:
        raise UserError("--runner dask: found no --scheduler, allowed: its address, as tcp://127.0.0.1:8786")
    if options.runner == "local" and options.scheduler:
        raise UserError("--scheduler: found with --runner local, allowed: with --runner dask")
    return str(options.scheduler) if options.scheduler else None


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"found {value}, allowed: 1 or more")
    return value

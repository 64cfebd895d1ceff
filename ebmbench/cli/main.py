"""The command `ebmbench`: its subcommands, their help, and the exit codes.

0 done, 1 something failed, 2 the request or params.yaml was wrong, 130 stopped by Ctrl-C.

A command imports what it needs when it runs, so that help appears at once.
"""

import argparse
import os
import sys

from ebmbench.cli import experiments, project, report, run, serve
from ebmbench.errors import DEBUG, make_console_safe, run_command

EXAMPLES = """\
examples:
  ebmbench run                        train, judge and report what changed
  ebmbench run --suite smoke          switch to a suite, then run it
  ebmbench run --dry-run              say what would run, and why
  ebmbench serve --cron "0 3 * * *"   run it every night, in a clone of its own
  ebmbench list                       methods, datasets and metrics with their papers
  ebmbench train two_moons dsm        one cell, by hand
  ebmbench claims run nce_learns_log_z  put a claim of the literature to the test
  ebmbench tune                       search for the methods' default settings
  ebmbench report release 0.1.0       keep the current report for good
  ebmbench report export r.parquet    write its numbers for other programs, also as .csv or .json
  ebmbench compare HEAD~1             which numbers moved since, and what else changed
  ebmbench compare dsm nce            two methods, seed by seed

exit codes: 0 done, 1 something failed, 2 the request or params.yaml is wrong, 130 stopped by Ctrl-C
"""


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="ebmbench",
        description="Benchmark of training methods for energy-based models.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an unexpected error, stages' too")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (run, report, project, experiments, serve):
        module.add_commands(commands)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    make_console_safe()
    arguments = build_parser().parse_args(argv)
    arguments.own_process = argv is None
    if arguments.debug:
        os.environ[DEBUG] = "1"
    return run_command(lambda: arguments.act(arguments), "--debug")


if __name__ == "__main__":
    sys.exit(main())

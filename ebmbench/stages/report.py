"""report: write `reports/<suite>/latest/` from the suite's finished cells."""

import argparse
import sys
from pathlib import Path

from ebmbench.config.params import FILE
from ebmbench.config.schema import read_yaml
from ebmbench.report.build import build
from ebmbench.report.claims.build import build_claims
from ebmbench.stages.runner import run_stage


def report(root: Path) -> None:
    """Build it; cells that failed are named in it."""
    params = read_yaml(root / FILE)
    make = build_claims if params["benchmark"].get("claims") else build
    print(make(root, params))


def main(argv: list[str] | None = None) -> int:
    """`python -m ebmbench.stages.report`."""
    argparse.ArgumentParser(prog="ebmbench report", description=__doc__).parse_args(argv)
    return run_stage("report", report)


if __name__ == "__main__":
    sys.exit(main())

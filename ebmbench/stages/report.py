"""report: write `reports/<suite>/latest/`, or `draft/` if it is partial or edited, from the suite's finished cells."""

import sys
from pathlib import Path

from ebmbench.config.schema import read_yaml
from ebmbench.report.build import build
from ebmbench.report.claims.build import build_claims
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.layout import DRAFT, LATEST, PARAMS_YAML


def report(root: Path) -> None:
    """Build it; cells that failed are named in it."""
    params = read_yaml(root / PARAMS_YAML)
    make = build_claims if params["benchmark"].get("claims") else build
    out = make(root, params)
    print(out)
    if out.name == DRAFT:
        print(f"partial or edited: {out.with_name(LATEST).relative_to(root).as_posix()} stays as it was")


main = stage_main("report", report, __doc__)


if __name__ == "__main__":
    sys.exit(main())

"""Build the report of a suite of claims: `claims.md`, figures and all numbers."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.config.suites import edited_values
from ebmbench.report.build import SUMMARY, choose_folder, exchange, make_empty_folder
from ebmbench.report.claims.collect import STALE, ClaimResult, collect_claims, criterion_verdict
from ebmbench.report.claims.text import render_claims
from ebmbench.report.results.cells import NOT_RUN
from ebmbench.report.results.provenance import collect_provenance, make_header
from ebmbench.report.results.table import write_csv
from ebmbench.report.text.images import Image
from ebmbench.workspace.code_hash import text_of
from ebmbench.workspace.files import write_json
from ebmbench.workspace.layout import PARAMS_YAML

PAGE = "claims.md"
COLUMNS = ["claim", "verdict", "first", "again", "reason", "statistic", "rule", "criterion_verdict"]
COLUMNS += ["mean", "low", "high", "p", "power", "mean_again", "logarithm"]


def build_claims(root: Path, params: dict[str, Any], out: Path | None = None) -> Path:
    """Write all files into a new folder, then put it in the place of `out` (default as for other suites)."""
    suite = str(params["benchmark"]["suite"])
    claims = collect_claims(root, params)
    decided = [claim for claim in claims if claim.record]
    facts = collect_provenance(root, suite, [claim.versions for claim in decided], "claim")
    missing = [(word, sum(claim.verdict == word for claim in claims)) for word in (NOT_RUN, STALE)]
    header = make_header(facts, suite, len(claims), missing, edited_values(root, params), "claim")
    out = out or choose_folder(root, header)
    fresh = make_empty_folder(out.with_name(f".{out.name}.new"))
    images = {claim.name: _copy_figure(claim, fresh) for claim in decided}
    text = render_claims(claims, images, facts, header.line)
    (fresh / PAGE).write_text(text, encoding="utf-8", newline="\n")
    write_csv(_verdict_frame(claims), fresh / "verdicts.csv")
    write_json(fresh / SUMMARY, {claim.name: claim.verdict for claim in claims})
    if decided:
        values = [pd.read_csv(claim.folder / "values.csv", dtype=str) for claim in decided]
        write_csv(pd.concat(values), fresh / "values.csv")
    if (root / PARAMS_YAML).is_file():
        (fresh / PARAMS_YAML).write_bytes(text_of(root / PARAMS_YAML))
    exchange(fresh, out)
    return out


def _verdict_frame(claims: list[ClaimResult]) -> pd.DataFrame:
    """A row for each criterion, and one for a claim without any."""
    rows: list[dict[str, Any]] = []
    for one in claims:
        claim = {
            "claim": one.name,
            "verdict": one.verdict,
            "first": one.first,
            "again": one.again,
            "reason": one.reason,
        }
        rows += [claim | _criterion_row(criterion) for criterion in one.criteria] or [claim]
    return pd.DataFrame(rows, columns=COLUMNS)


def _criterion_row(criterion: dict[str, Any]) -> dict[str, Any]:
    return {
        "statistic": criterion["key"],
        "rule": criterion["rule"],
        "criterion_verdict": criterion_verdict(criterion),
        **{key: criterion["finding"][key] for key in ("mean", "low", "high", "p", "power")},
        "mean_again": (criterion["again"] or {}).get("mean"),
        "logarithm": criterion.get("logarithm", ""),
    }


def _copy_figure(claim: ClaimResult, folder: Path) -> Image:
    path = Path("figures", f"{claim.name}.png")
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(claim.folder / "figure.png", folder / path)
    return Image(path.as_posix(), claim.title, str(claim.record["caption"]))

"""Build the report of a suite of claims: `claims.md`, the same as a page, figures and all numbers."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.report.build import empty, exchange
from ebmbench.report.claims.collect import Tested, collect_claims, outcome
from ebmbench.report.claims.text import assemble_claims
from ebmbench.report.figures.image import Image
from ebmbench.report.page.html import write_page
from ebmbench.report.results.provenance import provenance
from ebmbench.report.results.table import write_csv
from ebmbench.workspace.code_hash import text_of
from ebmbench.workspace.layout import PARAMS_YAML, report_folder

PAGE = "claims.md"


def build_claims(root: Path, params: dict[str, Any], out: Path | None = None) -> Path:
    """Write all files into `out` (default `reports/<suite>/latest/`), and only then put them in place."""
    suite = str(params["benchmark"]["suite"])
    out = out or report_folder(root, suite)
    fresh = empty(out.with_name(f".{out.name}.new"))
    claims = collect_claims(root, params)
    images = {one.name: _image(one, fresh) for one in claims if one.account}
    facts = provenance(root, suite, [one.versions for one in claims if one.account], "claim")
    text = assemble_claims(claims, images, facts)
    (fresh / PAGE).write_text(text, encoding="utf-8", newline="\n")
    write_csv(verdicts(claims), fresh / "verdicts.csv")
    tables = [pd.read_csv(one.folder / "values.csv", dtype=str) for one in claims if one.account]
    if tables:
        write_csv(pd.concat(tables), fresh / "values.csv")
    if (root / PARAMS_YAML).is_file():
        (fresh / PARAMS_YAML).write_bytes(text_of(root / PARAMS_YAML))
    write_page(fresh, PAGE)
    exchange(fresh, out)
    return out


def verdicts(claims: list[Tested]) -> pd.DataFrame:
    """A row for each criterion, and one for a claim without any."""
    rows: list[dict[str, Any]] = []
    for one in claims:
        told = {"claim": one.name, "verdict": one.verdict, "first": one.first, "again": one.again, "reason": one.reason}
        rows += [told | _numbers(row) for row in one.criteria] or [told]
    columns = ["claim", "verdict", "first", "again", "reason", "statistic", "rule", "criterion_verdict"]
    return pd.DataFrame(rows, columns=[*columns, "mean", "low", "high", "p", "power", "mean_again"])


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    finding, again = row["finding"], row["again"] or {}
    numbers = {key: finding[key] for key in ("mean", "low", "high", "p", "power")}
    told = {"statistic": row["key"], "rule": row["rule"], "criterion_verdict": outcome(row)}
    return {**told, **numbers, "mean_again": again.get("mean")}


def _image(one: Tested, folder: Path) -> Image:
    path = Path("figures", f"{one.name}.png")
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(one.folder / "figure.png", folder / path)
    return Image(path.as_posix(), one.title, str(one.account["caption"]))

"""Published numbers that ours are shown beside.

Xu, Self-Adapting Noise-Contrastive Estimation for Energy-Based Models, Tsinghua University thesis, 2022, table 5.2:
CIFAR-10, network and training as given there, features of Inception-v3; AdaNCE by the interval 𝒦 of its renewals.

Self-adapting NCE by the interval K of its renewals: does FID rise with K, as published?

Our data, network, budget and feature extractor are others than in the thesis: only the tendency can be compared. It
is computed, as Spearman's rank correlation of K and FID over the runs, and not read off a curve.
"""

import re

import pandas as pd
from scipy import stats

from ebmbench.report.results.groups import RATIO, heading
from ebmbench.report.results.kinds import SAID, image_sets, kinds, of_kind
from ebmbench.report.statistics.seeds import Summary, summarise
from ebmbench.report.text.numbers import MISSING, decimals, number, spread
from ebmbench.report.text.tables import markdown_table, share

SOURCE = "Xu 2022, CIFAR-10"
INCEPTION_SCORE = {1: 4.03, 5: 3.74, 10: 3.57, 20: 3.45, 50: 2.61}
FID = {1: 147.82, 5: 157.17, 10: 165.42, 20: 214.12, 50: 310.54}


METHOD = "adance"
SETTING = re.compile(r"interval=(\d+)")
METRICS = {"fid": "lower", RATIO: "lower", "inception_score": "higher"}
ABOUT = (
    "K is the number of steps after which `adance` renews its noise. The published rows are of CIFAR-10 with the "
    "network, budget and features (Inception-v3) of the thesis: their values cannot be compared with ours, "
    "their tendency can."
)
LEVEL = 0.05

Runs = dict[int, pd.DataFrame]


def swept(frame: pd.DataFrame, dataset: str, kind: str) -> Runs:
    """The rows of each interval on a dataset, of one kind of samples, by K; empty if fewer than two were run."""
    rows = of_kind(frame[(frame["dataset"] == dataset) & (frame["method"] == METHOD)], kind)
    found = {}
    for settings, part in rows.groupby("settings", sort=False):
        match = SETTING.fullmatch(str(settings))
        if match and ((part["samples"] == kind) & part["value"].notna()).any():
            found[int(match[1])] = part
    return dict(sorted(found.items())) if len(found) > 1 else {}


def sweeps(frame: pd.DataFrame) -> dict[tuple[str, str], Runs]:
    """All sweeps of a suite, by dataset and kind of samples."""
    found = {
        (dataset, kind): swept(frame, dataset, kind) for dataset in image_sets(frame) for kind in kinds(frame, dataset)
    }
    return {key: runs for key, runs in found.items() if runs}


def sweep_table(frame: pd.DataFrame) -> str:
    """A column for each K; published values first, ours below with intervals."""
    found = sweeps(frame)
    columns = sorted({*FID, *(k for runs in found.values() for k in runs)})
    theirs = {"fid": FID, "inception_score": INCEPTION_SCORE}
    rows = [
        [SOURCE, heading(metric, METRICS[metric]), *(_plain(known.get(k)) for k in columns)]
        for metric, known in theirs.items()
    ]
    for (dataset, kind), runs in found.items():
        for metric, direction in METRICS.items():
            cells = _cells({k: summarise(part, metric) for k, part in runs.items()})
            rows.append([f"`{dataset}`, {kind}", heading(metric, direction), *(cells.get(k, MISSING) for k in columns)])
    return markdown_table(["data", "metric", *(f"K = {k}" for k in columns)], rows, left=2)


def tendencies(frame: pd.DataFrame) -> str:
    """One sentence for each sweep, after one for the published table."""
    said = [f"Published: {tendency(list(FID), list(FID.values()), 'values')}"]
    for (dataset, kind), runs in sweeps(frame).items():
        pairs = [(k, value) for k, part in runs.items() for value in summarise(part, "fid").values.values()]
        said.append(
            f"On `{dataset}`, {SAID[kind]}: {tendency([k for k, _ in pairs], [one for _, one in pairs], 'runs')}"
        )
    return "\n".join(f"- {one}" for one in said)


def tendency(intervals: list[int], values: list[float], unit: str) -> str:
    """Whether FID rises with K, by Spearman's correlation and its p-value."""
    if len(values) < 3 or len(set(values)) < 2 or len(set(intervals)) < 2:
        return f"too few {unit} ({len(values)}) to tell whether FID rises with K."
    correlation, p = (float(one) for one in stats.spearmanr(intervals, values))
    rises = "rises" if correlation > 0 else "falls"
    verdict = f"FID {rises} with K" if p < LEVEL else "no clear tendency of FID with K"
    p_text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"{verdict} (Spearman's ρ = {number(correlation, 2)} over {len(values)} {unit}, {p_text})."


def _cells(summaries: dict[int, Summary]) -> dict[int, str]:
    places = decimals(one.mean for one in summaries.values())
    return {k: spread(one.mean, one.half, places) + (share(one) if one.values else "") for k, one in summaries.items()}


def _plain(value: float | None) -> str:
    return MISSING if value is None else number(value, 2)

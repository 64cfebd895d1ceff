"""What methods, data and metrics say of themselves, for the reader of the report; a name of one's own says
nothing.
"""

from collections.abc import Iterable

import pandas as pd

from ebmbench.core import registry
from ebmbench.core.registry import Entry
from ebmbench.report.groups import ARROWS, HEADINGS, direction
from ebmbench.report.references import BASELINES, baselines


def entry(kind: str, name: str) -> Entry | None:
    """The registered entry, or None for a dataset of one's own and for metrics that share a file."""
    return registry.describe(kind, name) if name in registry.names(kind) else None


def metric_lines(frame: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """A line for each metric: short name, direction, meaning, paper, protocol."""
    return [_metric_line(frame, name) for name in names]


def papers(frame: pd.DataFrame) -> list[str]:
    """A line for each paper behind the methods, data and metrics, by year, with what it is used for."""
    used = {
        "methods": frame["method"],
        "baselines": frame["method"],
        "data": frame["dataset"],
        "metrics": frame["metric"],
    }
    found: dict[tuple[int, str], list[str]] = {}
    for kind, column in used.items():
        for name in dict.fromkeys(column):
            one = entry(kind, name)
            if one is not None and one.paper:
                found.setdefault((one.year, one.paper), []).append(f"`{name}`")
    return [f"- {_dated(paper, year)}: {', '.join(names)}" for (year, paper), names in sorted(found.items())]


def method_names(frame: pd.DataFrame) -> list[str]:
    """The methods in the order of the suite, without baselines."""
    hidden = {*baselines(), BASELINES}
    return [name for name in dict.fromkeys(frame["method"]) if name not in hidden]


def method_lines(frame: pd.DataFrame) -> list[str]:
    """A line for each method: name, title, paper."""
    lines = []
    for name in method_names(frame):
        one = entry("methods", name)
        lines.append(f"- **{name}**: {one.title} ({_dated(one.paper, one.year)})" if one else f"- **{name}**")
    return lines


def _metric_line(frame: pd.DataFrame, name: str) -> str:
    one = entry("metrics", name)
    arrow = ARROWS.get(direction(frame, name), "")
    meaning = f": {one.title} ({_dated(one.paper, one.year)})" if one else ""
    protocols = [text for text in frame.loc[frame["metric"] == name, "protocol"] if text]
    # What differs between runs is theirs to tell, in results.csv.
    how = f" *{protocols[0]}*" if len(protocols) > 1 and len(set(protocols)) == 1 else ""
    return f"- **{HEADINGS.get(name, name.replace('_', ' '))}** {arrow} (`{name}`){meaning}.{how}"


def _dated(paper: str, year: int) -> str:
    return paper if not year or str(year) in paper else f"{paper}, {year}"

"""The papers behind the methods, data and metrics, by year, with what each is used for."""

from ebmbench.config import registry
from ebmbench.report.results.suite import Results

TITLE = "Papers"
ORDER = 140
COLUMNS = {"methods": "method", "baselines": "method", "data": "dataset", "metrics": "metric"}


def text(results: Results) -> str:
    """A line for each paper; datasets of one's own have none."""
    found: dict[tuple[int, str], list[str]] = {}
    for kind, column in COLUMNS.items():
        for name in dict.fromkeys(results.frame[column]):
            one = registry.entries(kind).get(name)
            if one is not None and one.paper:
                found.setdefault((one.year, one.citation), []).append(f"`{name}`")
    return "\n".join(f"- {paper}: {', '.join(names)}" for (_, paper), names in sorted(found.items())) or "None."

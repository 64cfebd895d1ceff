"""The papers behind the methods, data, metrics and samplers, by year, with what each is used for."""

from ebmbench.config import registry
from ebmbench.report.results.samplers import read_all_samplers
from ebmbench.report.results.suite import Results
from ebmbench.report.text.links import link_papers

TITLE = "Papers"
ORDER = 140
FOLDED = "What each method, dataset, metric and sampler is taken from"
COLUMNS = {"methods": "method", "baselines": "method", "data": "dataset", "metrics": "metric"}


def text(results: Results) -> str:
    """A line for each paper; datasets of one's own have none."""
    used = [(kind, name) for kind, column in COLUMNS.items() for name in dict.fromkeys(results.frame[column])]
    used += [("samplers", name) for name in _samplers(results)]
    found: dict[tuple[int, str], list[str]] = {}
    for kind, name in used:
        one = registry.entries(kind).get(name)
        if one is not None and one.paper:
            found.setdefault((one.year, link_papers(one.citation, one.links)), []).append(f"`{name}`")
    return "\n".join(f"- {paper}: {', '.join(names)}" for (_, paper), names in sorted(found.items())) or "None."


def _samplers(results: Results) -> list[str]:
    """The samplers that drew the samples; what was written down is `mala` or `mala, 100 steps`."""
    written = [sampler for samplers in read_all_samplers(results).values() for sampler in samplers]
    return list(dict.fromkeys(sampler.partition(",")[0] for sampler in written))

"""What to avoid, a line of the answer: who diverges, collapses or is worse than a baseline that only knows moments."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import LIKELIHOODS, datasets, short_name, variants
from ebmbench.report.results.kinds import SAMPLES
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import rows_of_methods
from ebmbench.report.statistics.fields import find_fields, flatten
from ebmbench.report.statistics.seeds import Summary, summarise
from ebmbench.report.text.numbers import format_interval, format_number, plural
from ebmbench.report.text.words import join_words, list_names

REFERENCES = ("gaussian", "mean_field", "bernoulli_mixture")  # of points and images, and of binary data
LIKELIHOOD = "log-likelihood"
COLLAPSED = {"short-run-only": "long runs of {who} on `{where}` collapse ({share})"}
COLLAPSED |= {"miscalibrated": "the density of {who} on `{where}` is miscalibrated ({share})"}


def describe_what_to_avoid(results: Results) -> str:
    """Methods that diverge, collapse or are worse than a Gaussian, and where a baseline beats them all."""
    if not results.frame["status"].isin(["ok", "diverged"]).any():
        return ""
    references = _references(results.frame)
    bad = [*_diverged(results.frame), *_collapsed(results.frame)]
    bad += [line for reference in references for line in _worse_than(results, reference)]
    than = f"the {join_words(references, 'or')} baseline"
    none = f"no run diverged or collapsed, and no method was found worse than {than} in all its runs"
    return " ".join([f"**Avoid:** {'; '.join(bad) or none}.", *filter(None, _defeats(results.frame))])


def _diverged(frame: pd.DataFrame) -> list[str]:
    runs = rows_of_methods(frame).drop_duplicates(["dataset", "method", "label"])
    found: dict[str, list[str]] = {}
    for method, part in runs[runs["status"].isin(["ok", "diverged"])].groupby("method", sort=False):
        if count := int((part["status"] == "diverged").sum()):
            found.setdefault(f"{count} of {plural(len(part), 'run')}", []).append(str(method))
    return [f"{list_names(names)} diverged in {share}{' each' * (len(names) > 1)}" for share, names in found.items()]


def _collapsed(frame: pd.DataFrame) -> list[str]:
    """Methods with runs whose verdict says that their long runs or their density are of no use."""
    runs = rows_of_methods(frame).drop_duplicates(["dataset", "method", "label"])
    found = []
    for word, sentence in COLLAPSED.items():
        for dataset, bad in runs[runs["verdict"] == word].groupby("dataset", sort=False):
            who = list(dict.fromkeys(bad["method"]))
            total = int(((runs["dataset"] == dataset) & runs["method"].isin(who)).sum())
            share = f"{len(bad)} of {plural(total, 'run')}"
            found.append(sentence.format(who=list_names(who), where=dataset, share=share))
    return found


def _references(frame: pd.DataFrame) -> list[str]:
    """The simple baselines that were run: the Gaussian, or of binary data independent units and their mixture."""
    return [name for name in REFERENCES if (frame["method"] == name).any()] or [REFERENCES[0]]


def _worse_than(results: Results, reference: str) -> list[str]:
    """Methods of which every run is worse than a baseline, by the metrics of the answers above and on images by
    likelihood.
    """
    by_kind: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for kind in ("", "short", "long"):
        for metric, dataset, field in flatten(find_fields(results, kind)):
            rows = variants(results.frame, dataset).get(reference)
            bar = None if rows is None else summarise(rows, metric).mean
            worse = [name for name, one in field.methods.items() if bar is not None and _all_worse(one, bar)]
            if worse:
                by_kind.setdefault((tuple(worse), metric, dataset), []).append(kind)
    for dataset in results.image_datasets:
        if worse := _less_likely(variants(results.frame, dataset), reference):
            by_kind[tuple(worse), LIKELIHOOD, dataset] = [""]
    found: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for (names, metric, dataset), among in by_kind.items():
        of = f" of {join_words([SAMPLES[kind] for kind in among], 'and')}" if among != [""] else ""
        found.setdefault((names, f"{short_name(metric)}{of}"), []).append(dataset)
    than = f"worse than the {reference} baseline"
    return [
        f"{list_names(names)} {'is' if len(names) == 1 else 'are'} {than} in {what} on {list_names(sets)}"
        for (names, what), sets in found.items()
    ]


def _less_likely(rows_of: Mapping[str, pd.DataFrame], reference: str) -> list[str]:
    """Methods of which every run has a lower likelihood; nobody if that is all of them, which has its own sentence."""
    for metrics in LIKELIHOODS:
        known = {name: one for name, rows in rows_of.items() if (one := _likelihood(rows, metrics)).values}
        methods = {name: one for name, one in known.items() if not is_baseline(name)}
        if reference in known and methods:
            worse = [name for name, one in methods.items() if _all_worse(one, known[reference].mean or 0.0)]
            return [] if len(worse) == len(methods) else worse
    return []


def _all_worse(one: Summary, bar: float) -> bool:
    return all(value < bar if one.direction == "higher" else value > bar for value in one.values.values())


def _defeats(frame: pd.DataFrame) -> list[str]:
    """A sentence for each dataset and baseline whose likelihood is above that of every method; the oracle's must be."""
    found = []
    for dataset in datasets(frame):
        rows_of = variants(frame, dataset)
        for metrics in LIKELIHOODS:
            known = {name: one for name, rows in rows_of.items() if (one := _likelihood(rows, metrics)).values}
            methods = {name: one for name, one in known.items() if not is_baseline(name)}
            baselines = [name for name in known if is_baseline(name) and name != "oracle"]
            found += [_defeat(dataset, name, known[name], methods) for name in baselines if methods]
    return found


def _likelihood(rows: pd.DataFrame, metrics: Sequence[str]) -> Summary:
    """The first of these metrics that has values, or else the last."""
    found = [summarise(rows, metric) for metric in metrics]
    return next((one for one in found if one.values), found[-1])


def _defeat(dataset: str, baseline: str, bar: Summary, methods: dict[str, Summary]) -> str:
    """Empty if some method is above the baseline; one that lost runs counts by those it has."""
    best = max(methods, key=lambda name: methods[name].mean or 0.0)
    highest, one = bar.mean or 0.0, methods[best]
    if (one.mean or 0.0) + (one.half or 0.0) >= highest:  # above, or not told apart
        return ""
    whom, who = ("every method", f"the best method (`{best}`)") if len(methods) > 1 else (f"`{best}`", f"`{best}`")
    return (
        f"**On `{dataset}` the {baseline} baseline beats {whom} in log-likelihood**: it has "
        f"{format_number(highest)} nats, {who} {format_interval(one.mean, one.half)}."
    )

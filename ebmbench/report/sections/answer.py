"""The answer, first: which method for what, at which compute, what to avoid, and how sure that is.

Every word follows from the results. A method is best if it is bold in the table of that metric (`leaders`); several in
bold tie, and are named as ties. Where fewer than two methods have a value nothing was compared, and where no method is
bold nothing is decided: the answer says so and names no winner.
"""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.groups import LIKELIHOODS, datasets, short_name, variants
from ebmbench.report.results.kinds import SAMPLES
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import count_side, describe_side, rows_of_methods
from ebmbench.report.statistics.contests import find_contests
from ebmbench.report.statistics.fields import Field, Fields, find_fields, find_first_field, flatten
from ebmbench.report.statistics.ranks import PLACES, seed_ranks, ties
from ebmbench.report.statistics.seeds import Summary, summarise
from ebmbench.report.text.numbers import format_fixed, format_interval, format_number, plural
from ebmbench.report.text.words import join_words, list_names

TITLE = ""
ORDER = 0
FEW = 3  # datasets that are named one by one; of more, wins are counted
REFERENCES = ("gaussian", "mean_field")  # of points and images, and of binary data
COLLAPSED = {"short-run-only": "long runs of {who} on `{where}` collapse ({share})"}
COLLAPSED |= {"miscalibrated": "the density of {who} on `{where}` is miscalibrated ({share})"}
ONE_SEED = "One seed tells no difference from chance."
TIES = "Ties are what these seeds cannot tell apart, by a test at 5 %."
LIMIT = "; at the sampler limit even the control's chains do not mix in so many steps"
PLANE = [2]  # the shape of points in the plane
LEVEL = "An FID ratio is the FID divided by that of noisy test images; smaller is better."


def text(results: Results) -> str:
    """The answer as a list."""
    return "\n".join(f"- {line}" for line in answer_lines(results))


def answer_lines(results: Results) -> list[str]:
    """The answer of a suite, at most five lines of Markdown without links; for any page that quotes the suite."""
    noise, long = _answer("Samples from noise", results, "short"), _answer("Long runs", results, "long")
    samples = " ".join(filter(None, [noise, long, LEVEL if noise or long else ""]))
    lines = [_answer("Densities", results, ""), samples, _at_little_compute(results), _what_to_avoid(results)]
    return [line for line in (*lines, _how_sure(results)) if line]


def _answer(question: str, results: Results, kind: str) -> str:
    """Who is best, a sentence for each metric that decides; empty if the suite has no such data."""
    found = [
        _answer_by(metric, fields, question, results, kind) for metric, fields in find_fields(results, kind).items()
    ]
    return " ".join(filter(None, found))


def _answer_by(metric: str, fields: Fields, question: str, results: Results, kind: str) -> str:
    """Who is best by one metric, or why nobody is."""
    what = short_name(metric) + (f" of {SAMPLES[kind]}" if kind else "")
    if not fields:
        return ""
    if all(results.facts.get(dataset, {}).get("shape") == PLANE for dataset in fields):
        question = f"{question} in the plane"
    valued = {dataset: field for dataset, field in fields.items() if field.methods}
    if not valued:
        return f"**{question}: no answer.** No method has a value of {what}."
    if all(len(field.methods) == 1 for field in valued.values()):
        alone = "; ".join(f"only {_valued(field.methods)} on `{dataset}`" for dataset, field in valued.items())
        return f"**{question}: nothing was compared.** By {what}: {alone}."
    more = _describe_ranks(results, metric, kind) + (_describe_verdicts(results, valued) if kind == "long" else "")
    return f"**{question}: {_pick(valued)}.** By {what}, {_describe(valued)}.{more}"


def _pick(fields: Fields) -> str:
    """The methods that are best or tie with the best on every dataset where anything is decided."""
    decided = [list(field.leaders) for field in fields.values() if field.leaders]
    if not decided:
        return "undecided"
    common = [name for name in decided[0] if all(name in names for names in decided)]
    return join_words([f"`{name}`" for name in common], "or") or "it depends on the data"


def _describe(fields: Fields) -> str:
    """Who leads where, dataset by dataset if they are few, else by counting; and where nobody does."""
    decided = {dataset: field for dataset, field in fields.items() if field.leaders}
    open_sets = [dataset for dataset in fields if dataset not in decided]
    if len(decided) <= FEW:
        parts = _describe_each({dataset: field.leaders for dataset, field in decided.items()})
    else:
        wins = {name: sum(name in field.leaders for field in decided.values()) for name in _names(decided.values())}
        first, *rest = sorted(wins, key=lambda name: -wins[name])
        others = "".join(f", `{name}` on {wins[name]}" for name in rest)
        parts = [f"`{first}` is best or ties with the best on {wins[first]} of {len(fields)} datasets{others}"]
    return "; ".join([*parts, *_describe_open({dataset: fields[dataset] for dataset in open_sets})])


def _names(fields: Iterable[Field]) -> list[str]:
    return list(dict.fromkeys(name for field in fields for name in field.leaders))


def _describe_each(leaders: Mapping[str, Mapping[str, Summary]]) -> list[str]:
    """A part for each method that is best alone, with all its datasets, and for each tie."""
    alone: dict[str, list[str]] = {}
    for dataset, found in leaders.items():
        if len(found) == 1:
            ((name, one),) = found.items()
            alone.setdefault(name, []).append(f"`{dataset}` ({format_number(one.median)})")
    tied = [f"{_valued(found)} tie on `{dataset}`" for dataset, found in leaders.items() if len(found) > 1]
    return [*(f"`{name}` is best on {join_words(sets, 'and')}" for name, sets in alone.items()), *tied]


def _valued(methods: Mapping[str, Summary]) -> str:
    """`nce` (0.0045) and `ssm` (0.0064), the best first, with their medians."""
    ordered = sorted(methods, key=lambda name: _loss(methods[name]))
    return join_words([f"`{name}` ({format_number(methods[name].median)})" for name in ordered], "and")


def _loss(one: Summary) -> float:
    """The median, so that smaller is better."""
    return (one.median or 0.0) * (-1 if one.direction == "higher" else 1)


def _describe_open(fields: Fields) -> list[str]:
    """Why nobody leads on a dataset: all tie, one method alone, one seed, or too few whole results."""
    found: dict[str, list[str]] = {}
    for dataset, field in fields.items():
        found.setdefault(_why_open(field), []).append(dataset)
    return [f"{why} on {list_names(sets)}" for why, sets in found.items()]


def _why_open(field: Field) -> str:
    methods = field.methods
    if len(methods) < 2:
        return "nothing was compared" if methods else "there is no value"
    if field.best:
        return "both methods tie" if len(methods) == 2 else f"all {len(methods)} methods tie"
    if max(len(one.values) for one in methods.values()) < 2:
        first = min(methods, key=lambda name: _loss(methods[name]))
        return f"one seed cannot tell {len(methods)} methods apart (`{first}` has the best value)"
    return "fewer than two methods have a value of every run"


def _describe_ranks(results: Results, metric: str, kind: str) -> str:
    """The mean rank over all datasets, and who ties by it; empty on one dataset."""
    for one in find_contests(results):
        if (one.metric, one.kind) == (metric, kind) and one.decided and len(one.datasets) > 1:
            mean = float(seed_ranks(one.losses).mean(axis=0)[0])
            tied = [name for name, tie in zip(one.names[1:], ties(one.losses)[1:], strict=True) if tie]
            others = f"it ties with {list_names(tied)}" if tied else "no method ties with it"
            return (
                f" Over these {len(one.datasets)} datasets together `{one.names[0]}` has the best mean rank "
                f"({format_fixed(mean, PLACES)} among {len(one.names)}); there {others}."
            )
    return ""


def _describe_verdicts(results: Results, fields: Fields) -> str:
    """How the long runs of those who lead were judged."""
    words: dict[str, dict[str, None]] = {}
    for dataset, field in fields.items():
        rows_of = variants(results.frame, dataset)
        for name in field.leaders:
            words.setdefault(describe_side(rows_of[name], "sampler"), {})[name] = None
    found = [f"{word} ({list_names(list(names))})" for word, names in words.items() if word]
    limit = LIMIT if any("sampler limit" in word for word in words) else ""
    return f" Verdicts of their chains: {', '.join(found)}{limit}." if found else ""


def _at_little_compute(results: Results) -> str:
    """Who leads at the first moment that was judged, and where others lead at the end."""
    curves = results.curves
    if curves.empty:
        return ""
    ends = {dataset: field for kind in ("", "short") for _, dataset, field in flatten(find_fields(results, kind))}
    first = {dataset: find_first_field(results, dataset) for dataset in datasets(curves) if dataset in ends}
    first = {dataset: field for dataset, field in first.items() if len(field.methods) > 1}
    if not first:
        return ""
    passes = curves.groupby(["dataset", "method", "label"])["passes"]
    share = f"{100 * float((passes.min() / passes.max()).median()):.2g} %"
    change = [dataset for dataset, field in first.items() if set(field.leaders) != set(ends[dataset].leaders)]
    same = f"differ on {list_names(change)}" if change else "are the same"
    kind = "; images by short runs" if results.image_datasets else ""
    early = f"**Little compute** ({share} of the budget, by the same runs{kind}): {_describe(first)}."
    return f"{early} At the full budget the leaders {same}."


def _what_to_avoid(results: Results) -> str:
    """Methods that diverge, collapse or are worse than a Gaussian, and where a baseline beats them all."""
    if not results.frame["status"].isin(["ok", "diverged"]).any():
        return ""
    bad = [*_diverged(results.frame), *_collapsed(results.frame), *_worse_than_reference(results)]
    reference = f"the {_reference(results.frame)} baseline"
    none = f"no run diverged or collapsed, and no method was found worse than {reference} in all its runs"
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


def _reference(frame: pd.DataFrame) -> str:
    """The simplest baseline that was run: the Gaussian, or of binary data independent units."""
    return next((name for name in REFERENCES if (frame["method"] == name).any()), REFERENCES[0])


def _worse_than_reference(results: Results) -> list[str]:
    """Methods of which every run is worse than the simplest baseline, by the metrics of the answers above."""
    by_kind: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for kind in ("", "short", "long"):
        for metric, dataset, field in flatten(find_fields(results, kind)):
            rows = variants(results.frame, dataset).get(_reference(results.frame))
            bar = None if rows is None else summarise(rows, metric).mean
            worse = [name for name, one in field.methods.items() if bar is not None and _all_worse(one, bar)]
            if worse:
                by_kind.setdefault((tuple(worse), metric, dataset), []).append(kind)
    found: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for (names, metric, dataset), among in by_kind.items():
        of = f" of {join_words([SAMPLES[kind] for kind in among], 'and')}" if among != [""] else ""
        found.setdefault((names, f"{short_name(metric)}{of}"), []).append(dataset)
    than = f"worse than the {_reference(results.frame)} baseline"
    return [
        f"{list_names(names)} {'is' if len(names) == 1 else 'are'} {than} in {what} on {list_names(sets)}"
        for (names, what), sets in found.items()
    ]


def _all_worse(one: Summary, bar: float) -> bool:
    return all(value < bar if one.direction == "higher" else value > bar for value in one.values.values())


def _how_sure(results: Results) -> str:
    """Seeds, budget and health."""
    frame = rows_of_methods(results.frame)
    seeds = frame["seed"].dropna().nunique()
    if not seeds:
        return "**How sure:** not at all: there is no run."
    told = f"{plural(seeds, 'seed')} and one choice of budget, another may decide otherwise"
    few = ONE_SEED if seeds == 1 else TIES
    fields = [one for kind in ("", "short", "long") for _, _, one in flatten(find_fields(results, kind))]
    compared = any(len(one.methods) > 1 for one in fields)
    judged = {side: count_side(frame, side) for side in ("density", "sampler")}
    health = [
        f"{what} of {counts.get('ok', 0)} of {plural(sum(counts.values()), 'run')}"
        for what, counts in zip(("the density", "the long chains"), judged.values(), strict=True)
        if counts
    ]
    judged_ok = f"Judged ok: {join_words(health, 'and')}." if health else ""
    return " ".join(filter(None, [f"**How sure:** {told}.", few if compared else "", judged_ok]))


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

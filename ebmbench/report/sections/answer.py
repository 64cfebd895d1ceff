"""The answer, first: which method for what, at which compute, what to avoid, and how sure that is.

Every word follows from the results. A method is best if it is bold in the table of that metric (`leaders`); several in
bold tie, and are named as ties. Where fewer than two methods have a value nothing was compared, and where no method is
bold nothing is decided: the answer says so and names no winner. Of data at several budgets it says who leads at which.
"""

from collections.abc import Iterable, Mapping, Sequence

from ebmbench.report.results.groups import datasets, short_name, variants
from ebmbench.report.results.kinds import SAMPLES
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import count_side, describe_side, rows_of_methods
from ebmbench.report.sections.frontier import describe_by_compute
from ebmbench.report.statistics.contests import find_contests
from ebmbench.report.statistics.fields import Field, Fields, find_fields, find_first_field, flatten, order_by_median
from ebmbench.report.statistics.frontiers import Frontier, drop_frontiers, find_frontiers
from ebmbench.report.statistics.ranks import PLACES, seed_ranks, ties
from ebmbench.report.statistics.seeds import Summary
from ebmbench.report.text.avoidance import describe_what_to_avoid
from ebmbench.report.text.numbers import format_fixed, format_number, plural
from ebmbench.report.text.words import join_words, list_names

TITLE = ""
ORDER = 0
FEW = 3  # datasets that are named one by one; of more, wins are counted
ONE_SEED = "One seed tells no difference from chance."
FEW_SEEDS = " With so few, a method five times as bad passes for a tie in a third of such tests."  # see `leaders`
TIES = "Ties are what these seeds cannot tell apart, by a test at 5 %."
LIMIT = "; at the sampler limit even the control's chains do not mix in so many steps"
COLLAPSE = "short-run-only"
PLANE = [2]  # the shape of points in the plane
LEVEL = "An FID ratio is the FID divided by that of noisy test images; smaller is better."


def text(results: Results) -> str:
    """The answer as a list."""
    return "\n".join(f"- {line}" for line in answer_lines(results))


def answer_lines(results: Results) -> list[str]:
    """The answer of a suite in Markdown without links, for any page that quotes the suite.

    At most five lines, and one more for each source of data at several budgets.
    """
    frontiers = find_frontiers(results)
    rest = drop_frontiers(results, frontiers)
    lines = [describe_by_compute(one) for one in frontiers]
    if not frontiers or rest.datasets:
        lines += _answer_by_dataset(rest)
    lines += [describe_what_to_avoid(results), _how_sure(results, frontiers, rest)]
    return [line for line in lines if line]


def _answer_by_dataset(results: Results) -> list[str]:
    noise, long = _answer("Samples from noise", results, "short"), _answer("Long runs", results, "long")
    samples = " ".join(filter(None, [noise, long, LEVEL if noise or long else ""]))
    return [_answer("Densities", results, ""), samples, _at_little_compute(results)]


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
    least_bad = "none holds; least bad " if kind == "long" and _none_holds(results, valued) else ""
    return f"**{question}: {least_bad}{_pick(valued)}.** By {what}, {_describe(valued)}.{more}"


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
    named = [f"`{name}` ({format_number(methods[name].median)})" for name in order_by_median(methods)]
    return join_words(named, "and")


def _describe_open(fields: Fields) -> list[str]:
    """Why nobody leads, with the datasets where that is so."""
    found: dict[str, list[str]] = {}
    for dataset, field in fields.items():
        found.setdefault(field.why_open, []).append(dataset)
    return [f"{why} on {list_names(sets)}" for why, sets in found.items()]


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


def _none_holds(results: Results, fields: Fields) -> bool:
    """Whether all runs of all that lead collapse in the long run."""
    leaders = [(dataset, name) for dataset, field in fields.items() for name in field.leaders]
    words = {describe_side(variants(results.frame, dataset)[name], "sampler") for dataset, name in leaders}
    return words == {COLLAPSE}


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
    early = (
        f"**On the way** (the same runs at {share} of the budget, learning rates still high{kind}): {_describe(first)}."
    )
    return f"{early} At the full budget the leaders {same}."


def _how_sure(results: Results, frontiers: Sequence[Frontier], rest: Results) -> str:
    """Seeds, budget and health."""
    frame = rows_of_methods(results.frame)
    seeds = frame["seed"].dropna().nunique()
    if not seeds:
        return "**How sure:** not at all: there is no run."
    told = f"{plural(seeds, 'seed')} {_describe_budgets(frontiers, rest)}"
    few = ONE_SEED if seeds == 1 else f"{TIES}{FEW_SEEDS if seeds <= FEW else ''}"
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


def _describe_budgets(frontiers: Sequence[Frontier], rest: Results) -> str:
    """What the answer holds for; a suite without budgets has one choice of it."""
    if not frontiers:
        return "and one choice of budget, another may decide otherwise"
    one = f", and one choice of budget on {list_names(rest.datasets)}" if rest.datasets else ""
    return f"at each budget, which has runs and a schedule of its own{one}; others may decide otherwise"

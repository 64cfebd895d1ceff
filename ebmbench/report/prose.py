"""The sentences of the report: what was compared, what came out of it, how to read the numbers."""

from collections.abc import Sequence

import pandas as pd

from ebmbench.report.catalogue import method_names
from ebmbench.report.costs import budgets, equal
from ebmbench.report.failures import stale_line, tally
from ebmbench.report.groups import RATIO, datasets
from ebmbench.report.kinds import KINDS, SAID, image_sets, kinds, slice_of, toys
from ebmbench.report.numbers import count
from ebmbench.report.tables import best_of
from ebmbench.report.verdicts import tally as verdicts

STATISTIC = (
    "The unit is the seed. An entry is the mean over the seeds with the 95 % interval of Student's t around "
    "it (mean ± half width). **Bold** marks the best mean and every method that ties with it: methods are "
    "compared seed by seed, and they tie unless the 95 % t interval of the paired difference (of logarithms, "
    "where all values are positive) lies wholly on the worse side. Nobody counts as better than the oracle. A "
    "method takes part only if each of its runs gave a value, for a mean over survivors flatters whoever "
    "diverged; (4/5) says that four of five runs gave one. With few seeds the intervals are wide and ties are many: "
    "a tie says that these runs cannot tell two methods apart, not that they are equal; that all are compared with "
    "the best, which may owe its place to luck, is not corrected for. *At a glance* has the median in place of the "
    "mean, so that one odd run does not decide what is seen first."
)
RANKED = (
    "**Ranks** sum up the datasets. Equal values share the mean of their ranks, a run that diverged or failed is "
    "last, nobody is better than the oracle. A method's ranks are averaged over the datasets, which leaves one number "
    "for each seed; their mean has a t interval like any other, and methods tie by the paired differences of these "
    "numbers. The *probability of improvement* (Agarwal et al. 2021) is the share of all pairs of runs, one of each "
    "method on the same dataset, that the first one wins, ½ for equal values. Both count whole places, and a few "
    "seeds easily agree by chance: two equal methods come in the same order on three seeds one time in four. So the "
    "variance of rounding to whole places (1/12 for a rank, half of it for a probability, divided by the number of "
    "datasets) is added to that over seeds. In simulations with 3 to 10 seeds such intervals held the truth in no "
    "situation in less than 85 % of cases, averaged over methods, and in more than 95 % on average; but a divergence "
    "too rare to be met by these seeds is in no interval. Two equal methods were told apart in less than one case of "
    "twenty on average, at most in one of eight; of eight equal ones each was told apart from the luckiest in about "
    "one case of ten. The intervals speak of new seeds on these datasets, not of other "
    "datasets."
)
ONE_SEED = (
    "There is only one seed: entries are single values without an interval, no difference can be told from "
    "chance, and nothing is printed in bold."
)
TOGETHER = (
    "Read **KL, Fisher and off-support together**. The Fisher divergence compares scores where the data are; "
    "a model can have nearly the right score there and still put most of its mass where there are no data, "
    "or weigh the modes wrongly. KL and the off-support mass see that. *oracle* is what the truth "
    "itself gets (the true density judged like a model, with fresh data as its samples), *gaussian* knows the data's "
    "mean and covariance only; neither competes. – means that there is no value; the reason is "
    "[below](#failures-and-skipped)."
)


def abstract(frame: pd.DataFrame) -> str:
    """One paragraph: what was compared, how it ended, who leads. Seeds are those that ran, whatever was asked for."""
    methods, sets = method_names(frame), datasets(frame)
    seeds = sorted(set(frame.loc[frame["method"].isin(methods), "seed"].dropna()))
    each = f", with {plural(len(seeds), 'seed')} ({', '.join(map(str, seeds))}) for each" if seeds else ""
    compared = (
        f"This report compares {plural(len(methods), 'method')} of training an energy-based model "
        f"({names(methods)}) on {plural(len(sets), 'dataset')} ({names(sets)}){each}."
    )
    said = (compared, _budget(frame), _ending(frame), _health(frame), _leaders(frame))
    return " ".join(part for part in said if part)


def statistic(frame: pd.DataFrame) -> str:
    """How the numbers of a table are made, said once."""
    return ONE_SEED if frame["seed"].nunique() == 1 else STATISTIC


def plural(number: int, noun: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def names(items: Sequence[str]) -> str:
    """`a`, `b` and `c`, as code."""
    marked = [f"`{item}`" for item in items]
    return marked[0] if len(marked) == 1 else f"{', '.join(marked[:-1])} and {marked[-1]}" if marked else "none"


def _budget(frame: pd.DataFrame) -> str:
    found = budgets(frame)
    if not found:
        return ""
    low, high = min(low for low, _ in found.values()), max(high for _, high in found.values())
    if equal(low, high):
        return f"Every run had the same budget, {count(low)} network passes, whatever the time it took."
    if all(equal(*ends) for ends in found.values()):
        each = ", ".join(f"{count(fewest)} on `{dataset}`" for dataset, (fewest, _) in found.items())
        return f"Every run on a dataset had the same budget of network passes, whatever the time it took: {each}."
    return f"Runs took between {count(low)} and {count(high)} network passes."


def _ending(frame: pd.DataFrame) -> str:
    ends = tally(frame)
    total = ends["ok"] + ends["diverged"] + ends["skipped"]
    bad = [f"{ends[what]} {what}" for what in ("diverged", "skipped") if ends[what]]
    mixed = f"Of {plural(total, 'run')}, {ends['ok']} ended well and {' and '.join(bad)}."
    runs = mixed if bad else f"Every run ({total} in all) ended well."
    cells = ends["failed"] + ends["stale"]
    without = f"{plural(cells, 'cell')} {'has' if cells == 1 else 'have'} no" if total else "No run has"
    lost = f"{without} valid numbers, [for reasons given below](#failures-and-skipped)." if cells else ""
    return " ".join(filter(None, [runs if total else "", lost, stale_line(frame)]))


def _health(frame: pd.DataFrame) -> str:
    """The verdicts of the runs, if they are not what has just been said of their ends."""
    words = verdicts(frame)
    if set(words) <= {"ok", "diverged", "skipped"}:
        return ""
    return f"By their [health](#health-of-the-runs): {', '.join(f'{count} {word}' for word, count in words.items())}."


def _leaders(frame: pd.DataFrame) -> str:
    """Who is best or ties with the best: by KL, and for images by FID ratio within each kind of samples."""
    plane, pictured = toys(frame), image_sets(frame)
    said = [_best_by("KL", {dataset: best_of(plane, dataset, "kl") for dataset in datasets(plane)}, frame)]
    for kind in KINDS:
        sets = [dataset for dataset in pictured if kind in kinds(frame, dataset)]
        winners = {dataset: best_of(slice_of(frame, dataset, kind), dataset, RATIO) for dataset in sets}
        said.append(_best_by(f"FID ratio of {SAID[kind]}", winners, frame))
    return " ".join(filter(None, said))


def _best_by(what: str, winners: dict[str, set[str]], frame: pd.DataFrame) -> str:
    """On how many datasets each method leads; empty if nothing is decided."""
    decided = [names_of for names_of in winners.values() if names_of]
    if not decided:
        return ""
    wins = {
        method: sum(any(name.split(" ")[0] == method for name in names_of) for names_of in decided)
        for method in method_names(frame)
    }
    ranked = sorted((name for name in wins if wins[name]), key=lambda name: -wins[name])
    first, *rest = [f"`{name}`" for name in ranked]
    others = "".join(f", {name} on {wins[name.strip('`')]}" for name in rest)
    return f"By {what}, {first} is best or tied with the best on {plural(wins[ranked[0]], 'dataset')}{others}."

"""The sentences of the report: what was compared, what came out of it, how to read the numbers.

What a reader of image results must know: which samples, the FID ratio, by which protocol, and what it cannot say.

What a reader must know of single methods before comparing them; each note is there if its methods are.

What methods, data and metrics say of themselves, for the reader of the report; a name of one's own says
nothing.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from ebmbench.config import registry
from ebmbench.config.registry import Entry
from ebmbench.report.results.baselines import baselines
from ebmbench.report.results.groups import ARROWS, HEADINGS, RATIO, datasets, direction
from ebmbench.report.results.kinds import ABOUT, KINDS, SAID, image_sets, kinds, slice_of, toys
from ebmbench.report.results.samplers import Sampled
from ebmbench.report.sections.costs import budgets, equal
from ebmbench.report.sections.failures import stale_line, tally
from ebmbench.report.sections.verdicts import tally as verdicts
from ebmbench.report.text.numbers import count, plural
from ebmbench.report.text.tables import best_of
from ebmbench.workspace.layout import BASELINES

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


CHAINS = "the training chains"  # what a buffer is, and is said to be
KINDS_OF_SAMPLES = (
    "Images are judged by samples, and **samples are of several kinds that are never mixed**: {kinds}. A method can "
    "look well in one and fail in another: a short run may stop while its chains pass by the data, a long run shows "
    "where the model's mass is. Baselines have exact samples and stand in every table."
)
READ = (
    "The **FID ratio** is the FID of the samples divided by that of test images with Gaussian noise of deviation 0.2 "
    "(*noisy*, with another draw of it, has a ratio of about 1): below 1, samples are closer to the data than visibly "
    "noisy images are. "
    "Read it with **precision** (do samples look like data), **recall** (are all data covered) and **class entropy** "
    "(how evenly samples fall into classes): never by a classifier's confidence alone, which a model can raise with "
    "images of one class, or with images of nothing. *oracle* is held-out real images as if they were sampled, the "
    "floor of each metric; *gaussian* knows the data's mean and covariance only; none of the three competes."
)
EXTRACTOR = (
    "FID, KID and the others depend on the feature extractor and on the number of samples: values from different "
    "extractors, so of different datasets here and of papers that use Inception-v3, cannot be compared. {protocols}"
)


def explained(frame: pd.DataFrame, samplers: dict[str, Sampled]) -> str:
    """Paragraphs for the image datasets of a suite; empty if it has none."""
    sets = image_sets(frame)
    if not sets:
        return ""
    found = [kind for kind in ABOUT if any(kind in kinds(frame, dataset) for dataset in sets)]
    said = "; ".join(f"*{kind}* ({ABOUT[kind]}{_drawn(samplers.get(kind, {}))})" for kind in found)
    protocols = " ".join(filter(None, (_protocol(frame, dataset) for dataset in sets)))
    return "\n\n".join(
        [KINDS_OF_SAMPLES.format(kinds=said or "none yet"), READ, EXTRACTOR.format(protocols=protocols).strip()]
    )


def _drawn(samplers: Sampled) -> str:
    """Who drew them, if somebody wrote it down."""
    by = [f"by `{sampler}` for {names(methods)}" for sampler, methods in samplers.items() if sampler != CHAINS]
    return f", {', '.join(by)}" if by else ""


def _protocol(frame: pd.DataFrame, dataset: str) -> str:
    """What all values of FID rest on, and the numbers of samples: as the rows say."""
    rows = frame[(frame["dataset"] == dataset) & frame["value"].notna() & (frame["protocol"] != "")]
    rows = rows[rows["metric"] == ("fid" if (rows["metric"] == "fid").any() else RATIO)]
    if rows.empty:
        return ""
    first, *others = [text.split("; ") for text in dict.fromkeys(rows["protocol"])]
    shared = "; ".join(part for part in first if all(part in other for other in others))
    counts = [str(n) for n in sorted(set(rows["n"].dropna()))]
    samples = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else "".join(counts) or "an unknown number of"
    return f"On `{dataset}` FID is of {samples} samples{f', by *{shared}*' if shared else ''}."


SMOOTHED = (
    "For {methods} the density that is learned and judged is that of the data *smoothed* by noise of deviation σ (of "
    "several levels, the narrowest), so that even a perfect fit has a KL above zero; `kl_target` compares with the "
    "smoothed data."
)
SMOOTHED_IMAGES = (
    "For {methods} the density that is learned and sampled is that of the data *smoothed* by noise of deviation σ (of "
    "several levels, the narrowest)."
)
SSM_ON_IMAGES = "On images `ssm` learns smoothed data too."
STARTS = (
    "{methods} differ in where their training chains start (unless their settings say otherwise): those of `cd` at "
    "the data, those of {others} at noise, to go on in a persistent buffer; compare their rows to see its effect."
)
DEFAULTS = (
    "On toy data the default settings of all methods were chosen alike: the same number of trials for each, on "
    "development seeds that no report shows; `reports/tuning/report.md` lists the trials."
)
SAMPLERS = (
    "Samples were drawn {samplers}: where samplers differ, metrics of samples compare methods and samplers together."
)


def notes(methods: Sequence[str], samplers: Sampled, plane: bool = True, images: bool = False) -> str:
    """One paragraph for the methods of a suite, whose data are points in a plane, images, or both."""
    smoothed = [name for name in methods if name in (("dsm", "ncsn") if plane else ("dsm", "ssm", "ncsn"))]
    chains = [name for name in methods if name in ("mle", "cd", "adance", "adabrm")]
    parts = []
    if smoothed:
        parts.append((SMOOTHED if plane else SMOOTHED_IMAGES).format(methods=names(smoothed)))
    if plane and images and "ssm" in methods:
        parts.append(SSM_ON_IMAGES)
    others = [name for name in chains if name != "cd"]
    if others and others != chains:
        parts.append(STARTS.format(methods=names(chains), others=names(others)))
    if samplers:
        parts.append(_samplers(samplers))
    return " ".join([*parts, DEFAULTS] if plane else parts)


def _samplers(samplers: Sampled) -> str:
    by = [f"by `{sampler}` for {names(methods)}" for sampler, methods in samplers.items()]
    return SAMPLERS.format(samplers=", ".join(by)) if len(by) > 1 else f"Samples were drawn {by[0]}."


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

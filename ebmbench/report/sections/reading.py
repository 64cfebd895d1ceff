"""How to read the report: what its numbers mean, how they were made, and what each metric and method is.

What a reader must know of a single method is the method's own `REMARK`.
"""

import pandas as pd

from ebmbench.config import registry
from ebmbench.report.results.groups import ARROWS, RATIO, TRIO, direction, metrics, short_name
from ebmbench.report.results.kinds import MEANINGS, kinds
from ebmbench.report.results.samplers import TOYS, Sampled, read_all_samplers
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.contests import find_contests
from ebmbench.report.text.words import list_names

TITLE = "How to read it"
ORDER = 70
STATISTIC = (
    "The unit is the seed. An entry is the mean over the seeds with the 95 % interval of Student's t around it (mean "
    "± half width). **Bold** marks the best and every method that these seeds cannot tell from it, tested for all "
    "methods of a column together: if all were equal, some one of them would not be bold in about 5 % of columns at "
    "most. A method is told apart by Tukey's studentized range (at 4 %; of the pooled variance, its own and the best "
    "one's the largest counts) or by Welch's t test (at 1 %, divided among all pairs; of two methods at 5 %, and by "
    "this test alone). Logarithms are compared where smaller is better and all values are positive. A log-likelihood "
    "is compared by its gap to the truth's, where that is known: by KL. Nobody counts as better than the oracle. A "
    "method takes part only if each of its runs gave a value, for a mean over survivors flatters whoever diverged; "
    "(4/5) says that four of five runs gave one. A column with one such method has nothing bold, and neither has a "
    "metric that says what happened and not what is better. With few seeds ties are many: a tie says that these runs "
    "cannot tell two methods apart, not that they are equal. *At a glance* has the median in place of the mean, so "
    "that one odd run does not decide what is seen first."
)
RANKED = (
    "**Ranks** sum up the datasets. Equal values share the mean of their ranks, a run that diverged or failed is "
    "last, nobody is better than the oracle. A method's ranks are averaged over the datasets, which leaves one number "
    "for each seed; their mean has a t interval like any other. **Bold** ranks tie with the best: from the last "
    "upwards, methods are ranked among those left, and the last leaves if it is behind the first by more than "
    "Nemenyi's critical difference; of equal methods some one leaves in about 5 % of tables. The *probability of "
    "improvement* (Agarwal et al. 2021) is the share of all pairs of runs, one of each method on the same dataset, "
    "that the first one wins, ½ for equal values. Both count whole places, and a few seeds easily agree by chance: "
    "two equal methods come in the same order on three seeds one time in four. So the variance of rounding to whole "
    "places (1/12 for a rank, half of it for a probability, divided by the number of datasets) is added to that over "
    "seeds. In simulations with 3 to 10 seeds such intervals held the truth in no situation in less than 85 % of "
    "cases, averaged over methods, and in more than 95 % on average; but a divergence too rare to be met by these "
    "seeds is in no interval. The intervals speak of new seeds on these datasets, not of other datasets."
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
MISSING_VALUES = "– means that there is no value; the reason is [below](#failures-and-skipped)."
CHAINS = "the training chains"  # in place of a sampler, where a buffer was taken as it was
KINDS_OF_SAMPLES = (
    "Images are judged by samples, and **samples are of several kinds that are never mixed**: {kinds}. A method can "
    "look well in one and fail in another: a short run may stop while its chains pass by the data, a long run shows "
    "where the model's mass is. Baselines have exact samples and stand in every table."
)
READ = (
    "The **FID ratio** is the FID of the samples divided by that of test images with Gaussian noise of deviation 0.2 "
    "(*noisy*, with another draw of it, has a ratio of about 1): below 1, samples are closer to the data than visibly "
    "noisy images are. "
    "Read it with **precision** and **density** (do samples look like data), **recall** and **coverage** (are all data "
    "covered; coverage does not trust a few samples far off) and **class entropy** (how evenly samples fall into "
    "classes): never by a classifier's confidence alone, which a model can raise with "
    "images of one class, or with images of nothing. *oracle* is held-out real images as if they were sampled, the "
    "floor of each metric; *gaussian* knows the data's mean and covariance only; none of the three competes."
)
EXTRACTOR = (
    "FID, KID and the others depend on the feature extractor and on the number of samples: values from different "
    "extractors, so of different datasets here and of papers that use Inception-v3, cannot be compared. {protocols}"
)
DEFAULTS = (
    "On toy data the default settings of all methods were chosen alike: the same number of trials for each, on "
    "development seeds that no report shows; `reports/tuning/report.md` lists the trials."
)
SAMPLERS = (
    "Samples were drawn {samplers}: where samplers differ, metrics of samples compare methods and samplers together."
)


def text(results: Results) -> str:
    """Paragraphs on statistics, samples and settings, then a line for each metric and method."""
    samplers, toys = read_all_samplers(results), len(results.toys) > 0
    exact = (results.toys["metric"].isin(TRIO) & results.toys["value"].notna()).any()
    parts = [
        ONE_SEED if results.frame["seed"].nunique() == 1 else STATISTIC,
        RANKED if any(one.decided for one in find_contests(results)) else "",
        TOGETHER if exact else MISSING_VALUES,
        _explain_images(results, samplers),
        " ".join(filter(None, [_describe_samplers(samplers[TOYS]), DEFAULTS if toys else ""])),
    ]
    lines = {
        "Metrics": [_metric_line(results.frame, name) for name in metrics(results.frame)],
        "Methods": [_method_line(name) for name in results.methods],
    }
    parts += [f"{kind}:\n\n" + "\n".join(found) for kind, found in lines.items() if found]
    return "\n\n".join(filter(None, parts))


def _explain_images(results: Results, samplers: dict[str, Sampled]) -> str:
    """Kinds of samples, how to read the FID ratio, and by which protocol it was made; empty without images."""
    sets = results.image_datasets
    if not sets:
        return ""
    found = [kind for kind in MEANINGS if any(kind in kinds(results.frame, dataset) for dataset in sets)]
    listed = "; ".join(f"*{kind}* ({MEANINGS[kind]}{_drawn_by(samplers[kind])})" for kind in found)
    protocols = " ".join(filter(None, (_protocol(results.frame, dataset) for dataset in sets)))
    return "\n\n".join(
        [KINDS_OF_SAMPLES.format(kinds=listed or "none yet"), READ, EXTRACTOR.format(protocols=protocols).strip()]
    )


def _drawn_by(samplers: Sampled) -> str:
    """Who drew the samples, if it is written down."""
    by = [f"by `{sampler}` for {list_names(methods)}" for sampler, methods in samplers.items() if sampler != CHAINS]
    return f", {', '.join(by)}" if by else ""


def _describe_samplers(samplers: Sampled) -> str:
    by = [f"by `{sampler}` for {list_names(methods)}" for sampler, methods in samplers.items()]
    if not by:
        return ""
    return SAMPLERS.format(samplers=", ".join(by)) if len(by) > 1 else f"Samples were drawn {by[0]}."


def _protocol(frame: pd.DataFrame, dataset: str) -> str:
    """The numbers of samples behind the values of FID, and what their protocols have in common."""
    rows = frame[(frame["dataset"] == dataset) & frame["value"].notna() & (frame["protocol"] != "")]
    rows = rows[rows["metric"] == ("fid" if (rows["metric"] == "fid").any() else RATIO)]
    if rows.empty:
        return ""
    first, *others = [protocol.split("; ") for protocol in dict.fromkeys(rows["protocol"])]
    shared = "; ".join(part for part in first if all(part in other for other in others))
    counts = [str(n) for n in sorted(set(rows["n"].dropna()))]
    samples = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else "".join(counts) or "an unknown number of"
    return f"On `{dataset}` FID is of {samples} samples{f', by *{shared}*' if shared else ''}."


def _metric_line(frame: pd.DataFrame, name: str) -> str:
    """Short name, direction, meaning, paper, and the protocol if all runs share it."""
    one = registry.entries("metrics").get(name)
    arrow = f" {shown}" if (shown := ARROWS.get(direction(frame, name))) else ""
    meaning = f": {one.title} ({one.citation})" if one else ""
    protocols = [protocol for protocol in frame.loc[frame["metric"] == name, "protocol"] if protocol]
    how = f" *{protocols[0]}*" if len(protocols) > 1 and len(set(protocols)) == 1 else ""
    return f"- **{short_name(name)}**{arrow} (`{name}`){meaning}.{how}"


def _method_line(name: str) -> str:
    """Name, title, paper, and what its file says a reader must know."""
    one = registry.entries("methods").get(name)
    if one is None:
        return f"- **{name}**"
    return f"- **{name}**: {one.title} ({one.citation})" + (f". {one.remark}" if one.remark else "")

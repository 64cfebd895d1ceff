"""How to read the report: what its numbers mean, who drew the samples, and what the methods and main metrics are.

What a reader must know of a single method is the method's own `REMARK`; `docs/protocol.md` explains the rest.
"""

from copy import deepcopy
from functools import partial
from typing import Any

import pandas as pd

from ebmbench.config import registry
from ebmbench.config.yaml import lay_over
from ebmbench.report.results.groups import ARROWS, RATIO, TRIO, direction, metrics, short_name
from ebmbench.report.results.kinds import MEANINGS, kinds
from ebmbench.report.results.samplers import TOYS, Sampled, read_all_samplers
from ebmbench.report.results.suite import Results
from ebmbench.report.sections.main_table import shown_metrics
from ebmbench.report.text.numbers import format_number
from ebmbench.report.text.words import PROTOCOL, SETTINGS, list_names

TITLE = "How to read it"
ORDER = 100
FOLDED = "What the numbers mean, who drew the samples, and what each method learns"
STATISTIC = (
    "An entry is the mean over the seeds with its 95 % interval (mean ± half width), or the mean alone if all seeds "
    "gave the same. **Bold** marks the best and every method that these seeds cannot tell from it, all methods of a "
    f"column together ([the rule]({PROTOCOL}#statistics)). A method takes part only if each of its runs gave a value; "
    "(4/5) says that four of five did. A tie says that these runs cannot tell two methods apart, not that they are "
    "equal."
)
ONE_SEED = (
    "There is only one seed: entries are single values without an interval, no difference can be told from "
    "chance, and nothing is printed in bold."
)
BASELINES = (
    "*oracle* is what the truth itself gets, *gaussian* knows the data's mean and covariance only; baselines do not "
    "compete. – means that there is no value; the reason is [below](#failures-and-skipped)."
)
TOGETHER = (
    "Read **KL, Fisher and off-support together**: a model can have nearly the right score at the data and still put "
    "most of its mass elsewhere."
)
CHAINS = "the training chains"  # in place of a sampler, where a buffer was taken as it was
KINDS_OF_SAMPLES = (
    "Images are judged by samples, and **samples are of several kinds that are never mixed**: {kinds}. A short run may "
    "stop while its chains pass by the data; a long run shows where the model's mass is."
)
READ = (
    "An **FID ratio** below 1 is closer to the data than test images with noise of deviation 0.2 (*noisy*). Read it "
    "with **precision** (samples look like data), **coverage** (data are covered) and **class entropy** (how evenly "
    "classes are drawn): never by a classifier's confidence alone. FIDs of other extractors or numbers of samples "
    "cannot be compared. {protocols}"
)
HEAT = (
    "Langevin chains on `{dataset}` run at the temperature {by}. Far below 1 they look for low energies and do not "
    "draw from the density, so metrics of samples compare methods and samplers together."
)
CHOICE = (
    f"[How settings were chosen]({SETTINGS}): those of toys in the plane and of `digits` by equal searches with seeds "
    "of their own, but by the measure that ranks here and at one budget, which may be another; for images short runs "
    "were looked at, not long ones. All others by hand."
)
SAMPLERS = (
    "Samples were drawn {samplers}: where samplers differ, metrics of samples compare methods and samplers together."
)


def text(results: Results) -> str:
    """Paragraphs on statistics, samples and settings, then a line for each metric of the main table and each method."""
    samplers = read_all_samplers(results)
    exact = (results.toys["metric"].isin(TRIO) & results.toys["value"].notna()).any()
    parts = [
        ONE_SEED if results.frame["seed"].nunique() == 1 else STATISTIC,
        " ".join(filter(None, [TOGETHER if exact else "", BASELINES])),
        _explain_images(results, samplers),
        " ".join(filter(None, [_describe_samplers(samplers[TOYS]), CHOICE])),
    ]
    shown = {name for dataset in results.datasets for name in shown_metrics(results, dataset)}
    lines = {
        f"Metrics ([all]({PROTOCOL}#metrics))": [
            _metric_line(results.frame, name) for name in metrics(results.frame) if name in shown
        ],
        "Methods": [_method_line(results, name) for name in results.methods],
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
    told = [KINDS_OF_SAMPLES.format(kinds=listed or "none yet"), *filter(None, map(partial(_heat, results), sets))]
    return "\n\n".join([*told, READ.format(protocols=protocols).strip()])


def _heat(results: Results, dataset: str) -> str:
    """At which temperature T the Langevin chains of each method run; empty if the parameters do not say."""
    found: dict[float, list[str]] = {}
    for name in results.methods:
        sampler = _settings(results, name, dataset).get("sampler")
        if isinstance(sampler, dict) and sampler.get("kind") == "langevin" and sampler.get("step_size"):
            noise, step = sampler.get("noise_std"), sampler["step_size"]
            found.setdefault(1.0 if noise is None else noise**2 / step, []).append(name)
    by = [f"{format_number(heat)} for {list_names(names)}" for heat, names in sorted(found.items())]
    return HEAT.format(dataset=dataset, by=", ".join(by)) if by else ""


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
    """Short name, direction and meaning, and the protocol if all runs share it."""
    one = registry.entries("metrics").get(name)
    arrow = f" {shown}" if (shown := ARROWS.get(direction(frame, name))) else ""
    meaning = f": {one.title}" if one else ""
    protocols = [protocol for protocol in frame.loc[frame["metric"] == name, "protocol"] if protocol]
    how = f" *{protocols[0]}*" if len(protocols) > 1 and len(set(protocols)) == 1 else ""
    return f"- **{short_name(name)}**{arrow} (`{name}`){meaning}.{how}"


def _method_line(results: Results, name: str) -> str:
    """Name, title, and what its file says a reader must know, some of it only of datasets with such settings."""
    one = registry.entries("methods").get(name)
    if one is None:
        return f"- **{name}**"
    parts = [one.remark]
    for key, remark in one.remarks.items():
        sets = [dataset for dataset in results.datasets if _is_set(_settings(results, name, dataset), key)]
        where = "" if sets == results.datasets else f"On {list_names(sets)}: "
        parts += [where + remark] if sets else []
    return " ".join([f"- **{name}**: {one.title}.", *filter(None, parts)])


def _settings(results: Results, name: str, dataset: str) -> dict[str, Any]:
    """The method's section of the parameters, as it is on a dataset."""
    whole = {"methods": {name: deepcopy(results.params.get("methods", {}).get(name) or {})}}
    overrides = (results.params.get("datasets", {}).get(dataset) or {}).get("overrides") or {}
    lay_over(whole, {"methods": {name: (overrides.get("methods") or {}).get(name) or {}}})
    return whole["methods"][name]


def _is_set(section: Any, key: str) -> bool:
    """Whether a setting, or one of its swept values, is neither zero, false nor null."""
    if isinstance(section, list):
        return any(_is_set(one, key) for one in section)
    if not key:
        return bool(section)
    first, _, rest = key.partition(".")
    return isinstance(section, dict) and _is_set(section.get(first), rest)

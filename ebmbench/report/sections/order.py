"""The text of `report.md`: sections in order, each made elsewhere. It is written to read well on GitHub."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ebmbench.report.figures.image import Image
from ebmbench.report.results.groups import datasets, metrics
from ebmbench.report.results.kinds import image_sets, toys
from ebmbench.report.results.samplers import PLANE, Sampled
from ebmbench.report.sections.costs import cost_table
from ebmbench.report.sections.failures import failure_table, missing_table, stale_line
from ebmbench.report.sections.glance import glance
from ebmbench.report.sections.images import ais_table, image_tables
from ebmbench.report.sections.prose import (
    RANKED,
    TOGETHER,
    abstract,
    explained,
    method_lines,
    method_names,
    metric_lines,
    notes,
    papers,
    statistic,
)
from ebmbench.report.sections.ranking import ranking
from ebmbench.report.sections.sweep import ABOUT as SWEEP
from ebmbench.report.sections.sweep import sweep_table, tendencies
from ebmbench.report.sections.verdicts import health_table, meanings
from ebmbench.report.text.tables import full_table, main_table, markdown_table

NO_MAPS = "No maps: nothing two-dimensional has been evaluated."
NO_IMAGES = "No images: nothing has been sampled yet."
MISSES = "– means that there is no value; the reason is [below](#failures-and-skipped)."
MANY = 4  # images of a section; of more, only the first is open
HEALTH = (
    "What a reader must know of a run before believing its numbers. The verdict is the worst that applies to a run; "
    "all reasons are given, with the range of their numbers over the runs."
)
COST = (
    "The budget is counted in network passes and equal for all methods by protocol; steps and evaluations "
    "say how a method spends it. Seconds and memory depend on the machine and on what else it did; "
    "they are for information only, and nothing was stopped or chosen by them. Entries are medians "
    "over the runs that ended well."
)


@dataclass
class Images:
    """The figures of a report by section."""

    ranks: list[Image] = field(default_factory=list)
    densities: list[Image] = field(default_factory=list)
    samples: list[Image] = field(default_factory=list)
    health: list[Image] = field(default_factory=list)
    cost: list[Image] = field(default_factory=list)
    galleries: list[Image] = field(default_factory=list)
    chains: list[Image] = field(default_factory=list)
    classes: list[Image] = field(default_factory=list)
    sweep: list[Image] = field(default_factory=list)


def assemble(
    frame: pd.DataFrame, params: dict[str, Any], images: Images, samplers: dict[str, Sampled], facts: dict[str, str]
) -> str:
    """The whole report; a section without text is left out."""
    plane = len(toys(frame)) > 0
    sections = {
        "At a glance": glance(frame),
        "Densities": _gallery(images.densities, NO_MAPS) if plane else "",
        "Samples": _samples(images, NO_MAPS if plane else NO_IMAGES),
        "Main table": "\n\n".join(
            filter(None, [main_table(frame) if plane else "", *image_tables(frame), ais_table(frame)])
        ),
        "Ranks": (ranks := ranking(frame, images.ranks)),
        "Health of the runs": _health(frame, params),
        "How to read it": _reading(frame, samplers, bool(ranks)),
        "Interval of renewal": _sweep(frame, images),
        "Training health": _gallery(images.health, "No histories yet."),
        "Cost against quality": "\n\n".join(
            [_gallery(images.cost, "No run has both a quality and a cost."), COST, cost_table(frame)]
        ),
        "Full results": _full(frame),
        "Failures and skipped": _failures(frame),
        "Provenance": provenance_text(facts),
        "Papers": "\n".join(papers(frame)) or "None.",
    }
    title = f"# ebmbench: suite `{params['benchmark']['suite']}`\n\n{abstract(frame)}"
    return "\n\n".join([title, *(f"## {name}\n\n{text}" for name, text in sections.items() if text)]) + "\n"


def _health(frame: pd.DataFrame, params: dict[str, Any]) -> str:
    """Verdicts with their reasons, and what the words mean."""
    header = ["dataset", "method", "verdict", "why", "median R̂", "median ESS"]
    return "\n\n".join([HEALTH, meanings(frame, params), markdown_table(header, health_table(frame), left=4)])


def _reading(frame: pd.DataFrame, samplers: dict[str, Sampled], ranked: bool) -> str:
    plane = len(toys(frame)) > 0
    said = notes(method_names(frame), samplers.get(PLANE, {}), plane, bool(image_sets(frame)))
    parts = [
        statistic(frame),
        RANKED if ranked else "",
        TOGETHER if plane else MISSES,
        explained(frame, samplers),
        said,
    ]
    for kind, lines in (("Metrics", metric_lines(frame, metrics(frame))), ("Methods", method_lines(frame))):
        parts += [f"{kind}:\n\n" + "\n".join(lines)] if lines else []
    return "\n\n".join(filter(None, parts))


def _gallery(images: list[Image], otherwise: str) -> str:
    return "\n\n".join(image.markdown() for image in images) or otherwise


def _samples(images: Images, otherwise: str) -> str:
    """Clouds of points, then galleries, chains and classes of images, each below a heading of its own."""
    parts = {"Galleries": images.galleries, "Chains, unrolled": images.chains, "Classes of the samples": images.classes}
    texts = [_gallery(images.samples, "")]
    texts += [f"### {name}\n\n{folded(found)}" for name, found in parts.items() if found]
    return "\n\n".join(filter(None, texts)) or otherwise


def folded(images: list[Image]) -> str:
    """All of them if they are few; of many, the first is open and the reader opens the others."""
    open_ones = len(images) if len(images) <= MANY else 1
    return "\n\n".join(image.markdown() if place < open_ones else image.folded() for place, image in enumerate(images))


def _sweep(frame: pd.DataFrame, images: Images) -> str:
    if not images.sweep:
        return ""
    return "\n\n".join([_gallery(images.sweep, ""), sweep_table(frame), tendencies(frame), SWEEP])


def _full(frame: pd.DataFrame) -> str:
    """All metrics of each dataset, folded; the values of each run are in the CSV."""
    intro = "Every value of every run is in [results.csv](results.csv)."
    folded = [
        f"<details>\n<summary>{dataset}</summary>\n\n{full_table(frame, dataset)}\n\n</details>"
        for dataset in datasets(frame)
    ]
    return "\n\n".join([intro, *folded])


def _failures(frame: pd.DataFrame) -> str:
    missing = missing_table(frame)
    gaps = f"Values that good runs could not give:\n\n{missing}" if missing else ""
    return "\n\n".join(filter(None, [stale_line(frame), failure_table(frame), gaps]))


def provenance_text(facts: dict[str, str]) -> str:
    """The facts, and the commands that make the numbers again."""
    shown = [[name, value] for name, value in facts.items() if name != "rebuild"]
    own = "# or, in an environment of your own (pip install -e .):\ndvc repro"
    commands = f"```sh\n{facts['rebuild']}\n{own}\n```"
    return f"{markdown_table(['what', 'value'], shown, left=2)}\n\nTo rebuild:\n\n{commands}"

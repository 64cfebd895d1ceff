"""The results of one suite as one value, which every section and figure of the report receives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ebmbench.config.registry import choose_main_metric
from ebmbench.config.schema import read_yaml
from ebmbench.config.suites import edited_values
from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.cells import NOT_RUN, read_json_or_empty, read_versions
from ebmbench.report.results.curves import collect_curves, read_curves
from ebmbench.report.results.groups import IMAGE, MAIN, RATIO, datasets, drop_silent_baselines, metrics
from ebmbench.report.results.header import Header
from ebmbench.report.results.kinds import mask_other_kinds
from ebmbench.report.results.provenance import collect_provenance, make_header
from ebmbench.report.results.staleness import Present
from ebmbench.report.results.table import load_results
from ebmbench.report.text.images import Image
from ebmbench.workspace.layout import BASELINES, PARAMS_YAML, cell_folder


@dataclass(frozen=True)
class Results:
    """The rows of `results.csv` and what is known beside them; `Results(frame)` is enough for all tables.

    `facts` are those of each dataset (its baselines leave a `facts.json`), `images` the figures drawn for each section,
    `edits` the keys of `params` that are not as in the suite's file.
    """

    frame: pd.DataFrame
    params: Mapping[str, Any] = field(default_factory=dict)
    root: Path = Path()
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    provenance: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[str, Sequence[Image]] = field(default_factory=dict)
    edits: Sequence[str] = ()

    @cached_property
    def datasets(self) -> list[str]:
        """The datasets in the order of the suite."""
        return datasets(self.frame)

    @cached_property
    def methods(self) -> list[str]:
        """The methods in the order of the suite, without baselines."""
        return [name for name in dict.fromkeys(self.frame["method"]) if not is_baseline(name)]

    @cached_property
    def image_datasets(self) -> list[str]:
        """The datasets that are images, by their facts: images have grey levels."""
        return [name for name in self.datasets if self._is_image(name)]

    @cached_property
    def toys(self) -> pd.DataFrame:
        """The rows of all other datasets, with their long-run samples."""
        return mask_other_kinds(self.frame[~self.frame["dataset"].isin(self.image_datasets)], "long")

    @cached_property
    def main_metric(self) -> str:
        """The first metric of the suite, or of the table if no suite is known; `main_metric_of` says where it decides.

        On images it is the FID ratio (`groups.RATIO`), of each kind of samples on its own.
        """
        chosen = self.params.get("benchmark", {}).get("metrics") or metrics(self.toys, first=())
        return str(chosen[0]) if chosen else MAIN[0]

    @cached_property
    def header(self) -> Header:
        """What the report is of; the baselines of a dataset count as a cell only where they are missing."""
        cells = self.frame.drop_duplicates(["dataset", "method"])
        missing = {word: cells["status"] == word for word in (NOT_RUN, "stale")}
        counted = ~cells["method"].map(is_baseline).astype(bool) | missing[NOT_RUN] | missing["stale"]
        suite = str(self.params.get("benchmark", {}).get("suite", ""))
        numbers = [(word, int(found.sum())) for word, found in missing.items()]
        return make_header(self.provenance, suite, int(counted.sum()), numbers, self.edits)

    def main_metric_of(self, dataset: str) -> str:
        """The metric that decides on a dataset; of data without a known density the best that anybody has a value of.

        Baselines count: where the truth has a KL, a model without one has failed to have it.
        """
        return RATIO if dataset in self.image_datasets else self._main_metrics[dataset]

    @cached_property
    def toys_by_metric(self) -> dict[str, pd.DataFrame]:
        """The rows of `toys` by the metric that decides on their dataset."""
        chosen = self.toys["dataset"].map(self._main_metrics)
        return {str(metric): self.toys[chosen == metric] for metric in dict.fromkeys(chosen)}

    @cached_property
    def _main_metrics(self) -> dict[str, str]:
        valued = self.toys[self.toys["value"].notna()]
        found = {name: set(valued.loc[valued["dataset"] == name, "metric"]) for name in datasets(self.toys)}
        return {name: choose_main_metric(self.main_metric, metrics) for name, metrics in found.items()}

    def _is_image(self, dataset: str) -> bool:
        """Without facts (as of an old `results.csv`) metrics of images decide, unless only others have values."""
        if dataset in self.facts:
            return self.facts[dataset].get("levels") is not None
        rows = self.frame[self.frame["dataset"] == dataset]
        valued, named = set(rows.loc[rows["value"].notna(), "metric"]), set(rows["metric"])
        return bool(valued & set(IMAGE)) or (bool(named & set(IMAGE)) and not valued & set(MAIN))


def collect_results(root: Path, params: Mapping[str, Any], frame: pd.DataFrame) -> Results:
    """The results of a suite whose rows are known, with facts, curves and provenance from the project's files."""
    present = Present(root, params)
    folders = {name: cell_folder(root, present.suite, name, BASELINES) for name in datasets(frame)}
    facts = {name: read_json_or_empty(folder / "facts.json") for name, folder in folders.items()}
    return Results(
        frame,
        params,
        root,
        {name: found for name, found in facts.items() if found},
        collect_curves(root, frame),
        collect_provenance(root, present.suite, read_versions(present, frame)),
        edits=edited_values(root, params),
    )


def read_report(folder: Path) -> Results:
    """The results of a finished report, from its own files: enough for the answer and all tables, not for figures.

    The facts of the datasets are not among them: images are then known by their metrics.
    """
    params = read_yaml(folder / PARAMS_YAML) if (folder / PARAMS_YAML).is_file() else {}
    frame = drop_silent_baselines(load_results(folder))
    return Results(frame, params, folder, curves=read_curves(folder / "curves.csv"))

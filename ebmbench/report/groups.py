"""How the rows of `results.csv` fall into the rows of a table: by dataset, then by method with settings."""

import pandas as pd

from ebmbench.report.cells import BASELINES
from ebmbench.report.frame import baselines, variant

COSTS = ("energy_evaluations", "input_gradients", "parameter_gradients", "passes")
TRIO = (
    "kl",
    "fisher",
    "off_support",
)  # a small score error alone says nothing about mass: shown together, always
MAIN = (*TRIO, "mode_density", "mode_sampler", "oracle_gap")

HEADINGS = {
    "kl": "KL",
    "reverse_kl": "reverse KL",
    "fisher": "Fisher",
    "off_support": "off-support",
    "mode_density": "mode error, density",
    "mode_sampler": "mode error, sampler",
    "mmd": "MMD²",
    "kl_target": "KL to the method's target",
    "log_z_error": "error of log Z",
    "log_likelihood": "log-likelihood",
}
ARROWS = {"lower": "↓", "higher": "↑"}


def datasets(frame: pd.DataFrame) -> list[str]:
    """The datasets in the order of the suite."""
    return list(dict.fromkeys(frame["dataset"]))


def variants(frame: pd.DataFrame, dataset: str) -> dict[str, pd.DataFrame]:
    """The rows of each method (with its swept settings) on a dataset, baselines first."""
    rows = frame[frame["dataset"] == dataset]
    names = [variant(method, settings) for method, settings in zip(rows["method"], rows["settings"], strict=True)]
    return {name: rows[[one == name for one in names]] for name in dict.fromkeys(names)}


def is_baseline(name: str) -> bool:
    """Whether a row is there for reference and does not compete."""
    return name in baselines() or name == BASELINES


def metrics(frame: pd.DataFrame) -> list[str]:
    """All metrics of quality: those of the main table first, then the others as they come."""
    found = dict.fromkeys(name for name in frame["metric"] if name and name not in COSTS)
    return [name for name in MAIN if name in found] + [name for name in found if name not in MAIN]


def heading(metric: str, direction: str) -> str:
    """A short name with an arrow towards the better values."""
    return f"{HEADINGS.get(metric, metric.replace('_', ' '))} {ARROWS.get(direction, '')}".strip()


def direction(frame: pd.DataFrame, metric: str) -> str:
    """The direction of a metric as the evaluation wrote it."""
    found = frame.loc[(frame["metric"] == metric) & (frame["direction"] != ""), "direction"]
    return str(found.iloc[0]) if len(found) else ""

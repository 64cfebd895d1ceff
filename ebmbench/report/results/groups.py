"""Group the rows of `results.csv` by dataset and method, and name and order their metrics."""

from collections.abc import Sequence

import pandas as pd

from ebmbench.report.results.baselines import is_baseline
from ebmbench.report.results.frame import variant

COSTS = ("energy_evaluations", "input_gradients", "parameter_gradients", "passes", "flops")
TRIO = ("kl", "fisher", "off_support")  # shown together: a small error of the score says nothing about mass
MAIN = (*TRIO, "kl_weights", "kl_within", "mode_density", "mode_sampler", "oracle_gap")
RATIO = "fid_ratio"  # the main metric of images
FEATURES = ("fid", "fid_infinity", "kid", "inception_score", "precision", "recall", "density", "coverage")
IMAGE = (RATIO, *FEATURES, "class_entropy")
# Of points, and of images: the most that a model may claim, or that of a noise ladder, which has no other.
LIKELIHOODS = (("log_likelihood",), ("ais_optimistic", "flow_likelihood"))
BOUNDS = ("ais_optimistic", "ais_pessimistic", "ais_gap", "ais_ess", "flow_likelihood")

HEADINGS = {
    "kl": "KL",
    "reverse_kl": "reverse KL",
    "fisher": "Fisher",
    "off_support": "off-support",
    "mode_density": "mode error, density",
    "mode_sampler": "mode error, sampler",
    "mmd": "MMD²",
    "sliced_wasserstein": "sliced Wasserstein",
    "c2st": "C2ST",
    "ksd": "KSD²",
    "stein": "Stein discrepancy",
    "entropy": "entropy of samples",
    "auroc_noise": "AUROC, uniform noise",
    "auroc_gaussian": "AUROC, Gaussian noise",
    "auroc_outliers": "AUROC, other data",
    "auroc_channels": "AUROC, exchanged colours",
    "kl_target": "KL to the method's target",
    "kl_weights": "KL of mode weights",
    "kl_within": "KL within modes",
    "kl_narrowest": "KL of the narrowest level",
    "log_z_error": "error of log Z",
    "log_likelihood": "log-likelihood",
    "variational_bound": "log-likelihood or bound",
    "fid_ratio": "FID ratio",
    "fid": "FID",
    "fid_infinity": "FID∞",
    "kid": "KID",
    "inception_score": "IS",
    "flow_likelihood": "log-likelihood by ODE",
    "ais_optimistic": "log-likelihood, optimistic",
    "ais_pessimistic": "log-likelihood, pessimistic",
    "ais_gap": "gap of AIS",
    "ais_ess": "ESS of AIS",
    "r_hat": "R̂",
    "ess": "ESS",
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


def metrics(frame: pd.DataFrame, first: Sequence[str] = (*MAIN, *IMAGE, *BOUNDS)) -> list[str]:
    """All metrics of quality: those of the main tables first, then the others as they come."""
    found = dict.fromkeys(name for name in frame["metric"] if name and name not in COSTS)
    return [name for name in first if name in found] + [name for name in found if name not in first]


def drop_silent_baselines(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame without baselines that have no value on a dataset (as noisy images have none on points)."""
    good = frame["method"].map(is_baseline).astype(bool) & (frame["status"] == "ok")
    silent = good & frame.groupby(["dataset", "method"])["value"].transform("count").eq(0)
    return frame[~silent]


def short_name(metric: str) -> str:
    """How a metric is called in tables and figures."""
    return HEADINGS.get(metric, metric.replace("_", " "))


def heading(metric: str, direction: str) -> str:
    """The short name (with the kind of samples in `fid (buffer)`) and an arrow towards the better values."""
    name, _, kind = metric.partition(" ")
    return " ".join(part for part in (short_name(name), kind, ARROWS.get(direction)) if part)


def direction(frame: pd.DataFrame, metric: str) -> str:
    """The direction of a metric as the evaluation wrote it."""
    found = frame.loc[(frame["metric"] == metric) & (frame["direction"] != ""), "direction"]
    return str(found.iloc[0]) if len(found) else ""

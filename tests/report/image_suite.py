"""The runs of a small suite of images, written as the stages would write them.

One dataset of 8×8 images, three seeds, all kinds of samples, and misfortunes: one run of `cd` diverged, one of `nce`
has no finite short-run samples, `ncsn` has no energy, hence no likelihood, and `ssm` failed as a whole. `adance` is
swept over its interval.
"""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np

from tests.report.suite import COLUMNS, SEEDS, cost_of, write_curve, write_data, write_json, write_records

DATASET = "digits"
DIRECTIONS = {
    "fid_ratio": "lower",
    "fid": "lower",
    "kid": "lower",
    "inception_score": "higher",
    "precision": "higher",
    "recall": "higher",
    "coverage": "higher",
    "density": "higher",
    "fid_infinity": "lower",
    "class_entropy": "higher",
}
AIS = {"ais_optimistic": "higher", "ais_pessimistic": "higher", "ais_gap": "lower", "ais_ess": "higher"}
COSTS = {"energy_evaluations": 5000, "input_gradients": 9000, "parameter_gradients": 3000, "passes": 40000}
BASELINES = {"oracle": 0.05, "gaussian": 4.0, "noisy": 1.0}
# The level of the FID ratio of each method, and the kinds of samples that it has.
LEVELS: dict[str, tuple[float, tuple[str, ...]]] = {
    "mle": (0.8, ("buffer", "short", "long")),
    "cd": (1.5, ("buffer", "short", "data")),
    "nce": (3.0, ("short", "long")),
    "adance interval=1": (0.82, ("buffer", "short")),
    "adance interval=5": (1.1, ("buffer", "short")),
    "adance interval=20": (1.9, ("buffer", "short")),
    "ncsn": (0.6, ("long",)),
}
FACTORS = {"buffer": 1.0, "short": 1.3, "long": 2.1, "data": 0.7, "exact": 1.0}
NOT_FINITE = "3 of 1000 samples are not finite"
NO_ENERGY = "there is no energy to evaluate"
PROTOCOL = "classifier of digits; 1000 samples ({kind}); reference 1000 of 1437 training images"
STEPS = (0, 1, 2, 5, 10, 20, 50, 100)


PARAMS: dict[str, Any] = {
    "benchmark": {
        "suite": "pictures",
        "seeds": list(SEEDS),
        "datasets": [DATASET],
        "methods": ["mle", "cd", "nce", "adance", "ssm", "ncsn"],
    }
}


def write_images(root: Path, shape: tuple[int, int, int] = (1, 8, 8), dataset: str = DATASET) -> Path:
    """The suite `pictures`; other shapes are for looking at."""
    write_data(root, "pictures", {"name": dataset, "levels": 17, "shape": list(shape)})
    cells = root / "runs" / "pictures" / dataset
    _write_cell(cells / "_baselines", dataset, list(BASELINES), shape)
    for method in dict.fromkeys(name.split(" ")[0] for name in LEVELS):
        _write_cell(cells / method, dataset, [name for name in LEVELS if name.split(" ")[0] == method], shape)
    note = {"stage": f"train@{dataset}-ssm", "reason": "out of memory"}
    write_json(root / "runs" / "pictures" / "_failures" / f"train_{dataset}-ssm.json", note)
    write_records(root, PARAMS)
    return root


def _write_cell(folder: Path, dataset: str, names: list[str], shape: tuple[int, int, int]) -> None:
    runs = [_run(dataset, name, seed) for name in names for seed in SEEDS]
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "metrics.json", {run["label"]: {"digest": run["digest"]} for run in runs})
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(row for run in runs for row in _rows(run))
    cost = {run["label"]: cost_of(20.0 + run["seed"] + 5 * run["level"], 300.0, COSTS["passes"]) for run in runs}
    np.savez_compressed(folder / "pictures.npz", **_pictures(runs, shape))
    if folder.name == "_baselines":
        write_json(folder / "cost.json", cost)
        return
    for stage in ("train", "sample", "evaluate"):
        write_json(folder / "cost" / f"{stage}.json", cost)
    for run in runs:
        (folder / "sample" / run["label"]).mkdir(parents=True)
        if run["status"] == "ok":
            samplers = {kind: {"sampler": "langevin" if kind == "buffer" else "mala"} for kind in run["kinds"]}
            write_json(folder / "sample" / run["label"] / "diagnostics.json", samplers)
        keys = ("status", "reason", "step", "digest", "seed", "label")
        write_json(folder / "train" / run["label"] / "status.json", {key: run[key] for key in keys})
    _write_history(folder / "history.csv", runs)
    ends = {
        run["label"]: run["level"] * FACTORS["short"]
        for run in runs
        if run["status"] == "ok" and "short" in run["kinds"]
    }
    write_curve(folder / "curve.csv", "fid_ratio", "short", ends, COSTS["passes"])


def _run(dataset: str, name: str, seed: int) -> dict[str, Any]:
    method, _, settings = name.partition(" ")
    level, kinds = LEVELS[name] if name in LEVELS else (BASELINES[name], ("exact",))
    head = method if method in BASELINES else settings
    diverged = (name, seed) == ("cd", 1)
    return {
        "dataset": dataset,
        "method": method,
        "settings": settings,
        "seed": seed,
        "label": f"{head}/seed={seed}" if head else f"seed={seed}",
        "digest": f"{len(name):x}{seed}0e1",
        "status": "diverged" if diverged else "ok",
        "reason": "diverged at step 77: loss is nan" if diverged else "",
        "step": 80 if diverged else 400,
        "level": level * (1 + 0.1 * math.sin(seed * 5 + len(name))) if method not in BASELINES else level,
        "kinds": kinds,
    }


def _rows(run: dict[str, Any]) -> list[dict[str, Any]]:
    shared = {key: run[key] for key in ("dataset", "method", "settings", "seed", "label", "digest", "status")}
    shared |= dict(zip(("verdict", "verdict_reason", "density_verdict", "sampler_verdict"), _verdict(run), strict=True))
    rows = []
    for kind in run["kinds"]:
        for name, value in _values(run["level"] * FACTORS[kind]).items():
            lost = run["reason"] or _lost(run, kind)
            rows.append(
                _row(name, value, lost, PROTOCOL.format(kind=kind))
                | shared
                | {"samples": kind, "direction": DIRECTIONS[name]}
            )
    for name, value in _likelihoods(run).items():
        lost = run["reason"] or (NO_ENERGY if run["method"] in (*BASELINES, "ncsn") else "")
        rows.append(_row(name, value, lost, "200 chains, 1000 temperatures") | shared | {"direction": AIS[name]})
    trained = COSTS if run["method"] not in BASELINES else {}
    return rows + [_row(name, value, run["reason"], "") | shared for name, value in trained.items()]


def _verdict(run: dict[str, Any]) -> tuple[str, str, str, str]:
    if run["status"] != "ok":
        return run["status"], run["reason"], "", ""
    if {"short", "long"} <= set(run["kinds"]):
        return "short-run-only", "fid_ratio of long runs is 1.62 times that of short ones", "ok", "short-run-only"
    limit = "R̂ of long runs is 2.7 (of the control 2.9)"
    return ("ok", "", "ok", "ok") if run["method"] in BASELINES else ("sampler limit", limit, "ok", "sampler limit")


def _row(metric: str, value: float, lost: str, protocol: str) -> dict[str, Any]:
    given = "" if lost else repr(float(value))
    common = {"suite": "pictures", "samples": "", "error": "", "n": 1000, "direction": "lower"}
    return common | {"metric": metric, "value": given, "reason": lost, "protocol": protocol}


def _lost(run: dict[str, Any], kind: str) -> str:
    return NOT_FINITE if (run["method"], run["seed"], kind) == ("nce", 0, "short") else ""


def _values(ratio: float) -> dict[str, float]:
    return {
        "fid_ratio": ratio,
        "fid": 12.5 * ratio,
        "kid": 0.004 * ratio**1.5,
        "inception_score": 1 + 8 / (1 + 0.3 * ratio),
        "precision": 1 / (1 + ratio),
        "recall": 1 / (1 + 0.8 * ratio),
        "coverage": 0.8 / (1 + 0.7 * ratio),
        "density": 1 / (1 + 0.9 * ratio),
        "fid_infinity": 12.5 * ratio - 0.6,
        "class_entropy": 2.3 / (1 + 0.1 * ratio),
    }


def _likelihoods(run: dict[str, Any]) -> dict[str, float]:
    low = -30 - 10 * run["level"]
    names = ("ais_optimistic", "ais_pessimistic", "ais_gap", "ais_ess")
    return dict(zip(names, (low + 2.5, low, 2.5 + run["level"], 0.9 - 0.1 * run["level"]), strict=True))


def _pictures(runs: list[dict[str, Any]], shape: tuple[int, int, int]) -> dict[str, Any]:
    arrays: dict[str, Any] = {"real": glyphs(64, shape, 0.05, 9), "classes": np.array([str(one) for one in range(10)])}
    arrays["covered"] = np.where(np.arange(shape[1])[:, None] < shape[1] // 2, arrays["real"][:8], 128).astype(np.uint8)
    for run in (one for one in runs if one["status"] == "ok"):
        if run["method"] not in BASELINES:
            drawn = [glyphs(8, shape, 0.2 * run["level"], number) for number in range(4)]
            arrays[f"completed:{run['label']}"] = np.stack(drawn, 1)
        if run["method"] == "mle":  # as if it knew classes
            rows = glyphs(160, shape, 0.5, run["seed"]).reshape(16, 10, *shape)
            arrays[f"conditional:{run['label']}"] = rows.swapaxes(0, 1)
        for kind in run["kinds"]:
            key, level = f"{run['label']}:{kind}", run["level"] * FACTORS[kind]
            arrays[f"images:{key}"] = glyphs(64, shape, 0.2 * level, run["seed"])
            generator = np.random.default_rng(run["seed"])
            arrays[f"histogram:{key}"] = generator.multinomial(1000, generator.dirichlet([20 / (0.1 + level)] * 10))
            if kind in ("short", "long"):
                moments = [glyphs(8, shape, 0.2 * level + 3 / (1 + step), run["seed"]) for step in STEPS]
                arrays[f"chain:{key}"] = np.stack(moments, 1)
                arrays[f"chain_steps:{key}"] = np.array(STEPS) * (1 if kind == "short" else 100)
    return arrays


def glyphs(count: int, shape: tuple[int, int, int], noise: float, seed: int) -> Any:
    """Rings and bars with noise, uint8 `(count, *shape)`: one can see them, and tell them apart."""
    generator = np.random.default_rng(seed)
    channels, height, width = shape
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    classes = np.arange(count) % 10
    angle = classes[:, None, None] * math.pi / 10
    bars = np.exp(-(((x * np.cos(angle) + y * np.sin(angle)) / 0.3) ** 2))
    rings = np.exp(-(((np.hypot(x, y) - 0.6) / 0.25) ** 2))
    grey = np.where(classes[:, None, None] % 2, bars, rings) * (np.hypot(x, y) < 1.1)
    tint = np.linspace(1.0, 0.4, channels)[None, :, None, None]
    drawn = 2 * grey[:, None] * tint - 1 + noise * generator.normal(size=(count, *shape))
    return ((np.clip(drawn, -1, 1) + 1) * 127.5).round().astype(np.uint8)


def _write_history(file: Path, runs: list[dict[str, Any]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["label", "step", "passes", "loss", "gradient_norm", "learning_rate", "energy_gap"])
        for run in runs:
            for step in range(0, run["step"], 8):
                loss = math.exp(-step / 100) + 0.1 * math.sin(step * (run["seed"] + 1.7))
                writer.writerow([run["label"], step, step * 100, loss, 1 + abs(loss), 1e-3, -loss])

"""The runs of a small suite, written as the stages would write them.

Two datasets, three methods, three seeds and the baselines. `adance` is swept over its interval; on `two_moons` one
seed of `mle` diverged and the whole cell of `adance` failed; `ncsn` has a score and no energy, and a sampler of its
own. All numbers are fixed, so that a golden file can hold the report.
"""

import csv
import json
import math
import re
import shutil
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from ebmbench.config.schema import read_yaml
from ebmbench.workspace.layout import record_file
from ebmbench.workspace.record import hash_of, write_record

STAGES: dict[str, Any] = read_yaml(Path(__file__).parents[2] / "dvc.yaml")["stages"]
SEEDS = (0, 1, 2)
COLUMNS = ["suite", "dataset", "method", "settings", "seed", "label", "digest", "status", "verdict", "verdict_reason"]
COLUMNS += ["density_verdict", "sampler_verdict", "reason"]
COLUMNS += ["metric", "samples", "value", "error", "n", "direction", "protocol"]
METRICS = {
    "kl": "lower",
    "fisher": "lower",
    "off_support": "lower",
    "mode_density": "lower",
    "mode_sampler": "lower",
    "oracle_gap": "lower",
    "log_likelihood": "higher",
    "r_hat": "none",
    "ess": "none",
}
SHARES = (0.1, 0.5)  # of the budget, at which runs were judged on their way
COSTS = {"energy_evaluations": 4000, "input_gradients": 8000, "parameter_gradients": 2000, "passes": 20000}
COSTS |= {"flops": 3_200_000_000}
# The level of KL of each method; the other metrics follow from it by a factor.
LEVELS = {
    "oracle": 0.0002,
    "gaussian": 1.3,
    "mle": 0.04,
    "adance interval=5": 0.042,
    "adance interval=10": 0.31,
    "ncsn": 0.09,
}
# What needs an energy, and why a score alone does not have it.
EXACT = ("kl", "off_support", "mode_density", "oracle_gap", "log_likelihood")
NO_ENERGY = "there is no energy to evaluate"
WIGGLE: dict[str, tuple[float, float, float]] = {
    "oracle": (0.0, 0.0, 0.0),
    "gaussian": (0.0, 0.0, 0.0),
    "mle": (0.1, -0.1, 0.02),
}


PARAMS: dict[str, Any] = {
    "benchmark": {
        "suite": "tiny",
        "seeds": list(SEEDS),
        "datasets": ["eight_gaussians", "two_moons"],
        "methods": ["mle", "adance", "ncsn"],
        "metrics": list(METRICS),
    },
    "methods": {"mle": {}, "adance": {"interval": [5, 10]}, "ncsn": {}},
}


def write_suite(root: Path, params: dict[str, Any] = PARAMS) -> Path:
    runs = root / "runs" / "tiny"
    for dataset in ("eight_gaussians", "two_moons"):
        write_data(root, "tiny", {"name": dataset})
        write_cell(runs / dataset / "_baselines", dataset, "", ["oracle", "gaussian"])
        write_cell(runs / dataset / "mle", dataset, "mle", ["mle"])
        write_cell(runs / dataset / "ncsn", dataset, "ncsn", ["ncsn"])
    write_cell(
        runs / "eight_gaussians" / "adance",
        "eight_gaussians",
        "adance",
        ["adance interval=10", "adance interval=5"],
    )
    note = {"stage": "train@two_moons-adance", "reason": "out of memory | at step 7"}
    write_json(runs / "_failures" / "train_two_moons-adance.json", note)
    write_records(root, params)
    return root


def write_data(root: Path, suite: str, facts: dict[str, Any]) -> None:
    """What prepare and features leave, as far as the report looks, and the facts that baselines copy."""
    write_json(root / "prepared" / facts["name"] / "facts.json", facts)
    write_json(root / "runs" / suite / facts["name"] / "_baselines" / "facts.json", facts)
    write_json(root / "features" / facts["name"] / "status.json", {"status": "skipped"})


def remove_outputs(root: Path, stage: str, suite: str = "tiny") -> None:
    """As DVC does before a stage runs: its record goes with its other outputs."""
    kind, _, item = stage.partition("@")
    dataset, _, method = item.partition("-")
    folders = {"prepare": root / "prepared" / item, "features": root / "features" / item}
    shutil.rmtree(folders.get(kind, root / "runs" / suite / dataset / method / kind))
    record_file(root, suite, stage).unlink()


def write_records(root: Path, params: dict[str, Any]) -> None:
    """The record of every stage of a suite, as if it had run with these parameters and with the files of now.

    What a stage reads is what `dvc.yaml` declares. After an edit that a stage should have seen, call it once more.
    """
    suite = params["benchmark"]["suite"]
    for folder in (one for one in (root / "runs" / suite).glob("*/*") if one.is_dir()):
        dataset, method = folder.parent.name, folder.name
        kinds = ["baselines"] if method == "_baselines" else ["train", "sample", "evaluate"]
        for kind in ("prepare", "features"):
            write_stage_record(root, params, f"{kind}@{dataset}")
        for kind in kinds:
            write_stage_record(root, params, f"{kind}@{dataset}" + f"-{method}" * (kind != "baselines"))


def write_stage_record(root: Path, params: dict[str, Any], stage: str) -> None:
    kind, _, item = stage.partition("@")
    dataset, _, method = item.partition("-")
    suite, body = params["benchmark"]["suite"], STAGES[kind].get("do", STAGES[kind])
    names = {"item.dataset": dataset, "item.method": method, "item.claim": item, "key": dataset}
    names |= {"benchmark.suite": suite, "item.source": f"{dataset}.npy"}

    def filled(texts: list[str]) -> list[str]:
        return [re.sub(r"\$\{(.*?)\}", lambda found: names[found[1]], text) for text in texts]

    inputs = {path: hash_of(root / path) for path in filled(body["deps"])}
    values = {
        key: reduce(lambda inner, part: (inner or {}).get(part), key.split("."), params)
        for key in filled(body["params"])
    }
    write_record(record_file(root, suite, stage), stage, values, inputs)


def write_cell(folder: Path, dataset: str, method: str, variants: list[str], seeds: tuple[int, ...] = SEEDS) -> None:
    """One cell: statuses, metrics, rows, history, maps and costs."""
    runs = [_run(dataset, variant, seed) for variant in variants for seed in seeds]
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "metrics.json", {run["label"]: _metrics(run) for run in runs})
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(row for run in runs for row in _rows(run))
    cost = {run["label"]: cost_of(2.0 + run["seed"], 150.0 + run["seed"], COSTS["passes"]) for run in runs}
    _write_maps(folder / "pictures.npz", dataset, runs)
    if not method:
        write_json(folder / "cost.json", cost)
        return
    for stage in ("train", "sample", "evaluate"):
        write_json(folder / "cost" / f"{stage}.json", cost)
    # By kind of samples, as it is written today, and flat, as it was.
    samplers = (
        {"sampler": "annealed_langevin"} if method == "ncsn" else {"long": {"sampler": "mala", "acceptance": 0.9}}
    )
    for run in runs:
        (folder / "sample" / run["label"]).mkdir(parents=True)
        if run["status"] == "ok":
            write_json(folder / "sample" / run["label"] / "diagnostics.json", samplers)
        keys = ("status", "reason", "step", "digest", "seed", "label")
        write_json(folder / "train" / run["label"] / "status.json", {key: run[key] for key in keys})
    _write_history(folder / "history.csv", runs)
    good = [run for run in runs if run["status"] == "ok"]
    write_curve(
        folder / "curve.csv", "kl", "", {run["label"]: run["kl"] for run in good if method != "ncsn"}, COSTS["passes"]
    )


def cost_of(seconds: float, memory: float, passes: int) -> dict[str, Any]:
    """Seconds and memory of a run, and when it came by its snapshots."""
    times = {str(round(share * passes)): share * seconds for share in SHARES}
    return {"seconds": seconds, "peak_memory_mb": memory, "snapshots": times}


def write_curve(file: Path, metric: str, kind: str, ends: dict[str, float], passes: int) -> None:
    """Values that fall with the root of the passes to those at the end."""
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["label", "metric", "samples", "passes", "value", "reason"])
        for label, end in ends.items():
            for share in (*SHARES, 1.0):
                writer.writerow([label, metric, kind, round(share * passes), repr(end / share**0.5), ""])


def write_json(file: Path, content: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def _run(dataset: str, variant: str, seed: int) -> dict[str, Any]:
    method, _, settings = variant.partition(" ")
    diverged = (dataset, variant, seed) == ("two_moons", "mle", 1)
    head = method if method in ("oracle", "gaussian") else settings
    return {
        "dataset": dataset,
        "method": method,
        "settings": settings,
        "seed": seed,
        "label": f"{head}/seed={seed}" if head else f"seed={seed}",
        "digest": f"{len(dataset):x}{len(variant):x}{seed}0e1",
        "status": "diverged" if diverged else "ok",
        "reason": "diverged at step 120: loss is nan" if diverged else None,
        "step": 120 if diverged else 500,
        "kl": LEVELS.get(variant, 0.05) * (1 + _wiggle(variant)[seed % 3]) * (3 - len(dataset) / 9),
    }


def _wiggle(variant: str) -> tuple[float, float, float]:
    return WIGGLE.get(variant, (-0.08, 0.11, 0.05))


def _metrics(run: dict[str, Any]) -> dict[str, Any]:
    values = {row["metric"]: None if row["value"] == "" else float(row["value"]) for row in _rows(run)}
    return {"digest": run["digest"], "status": run["status"], "verdict": verdict(run)[0], **values}


def verdict(run: dict[str, Any]) -> tuple[str, str, str, str]:
    """Word, reason and both sides: chains of far models have not met, and no grid holds the farthest."""
    if run["status"] != "ok":
        return run["status"], run["reason"], "", ""
    if run["method"] == "ncsn":
        why = f"density not judged: {NO_ENERGY}; sampler not judged: no stationary chain was traced"
        return "not judged", why, "not judged", "not judged"
    if run["method"] in ("oracle", "gaussian") or run["kl"] < 0.05:
        return "ok", "", "ok", "ok"
    unmixed = f"R̂ of long runs is {1 + run['kl']:.3g} (of the control 1.02)"
    if run["kl"] > 0.3:
        return "miscalibrated", f"no grid holds the model's mass; {unmixed}", "miscalibrated", "unmixed"
    return "unmixed", unmixed, "ok", "unmixed"


def _rows(run: dict[str, Any]) -> list[dict[str, Any]]:
    values = {name: run["kl"] * 0.7**place for place, name in enumerate(METRICS)}
    values |= {"log_likelihood": -1.5 - run["kl"], "r_hat": 1 + run["kl"], "ess": 40 / run["kl"]}
    word, why, density, sampler = verdict(run)
    trained = COSTS if run["method"] not in ("oracle", "gaussian") else {}
    rows = []
    for name, value in {**values, **trained}.items():
        lost = _why_lost(run, name)
        row = {key: run[key] for key in ("dataset", "method", "settings", "seed", "label", "digest", "status")}
        shared = {
            "suite": "tiny",
            "verdict": word,
            "verdict_reason": why,
            "density_verdict": density,
            "sampler_verdict": sampler,
            "metric": name,
            "samples": _kind(run) if name == "mode_sampler" else "",
            "error": "",
            "n": 1000,
            "direction": METRICS.get(name, "lower"),
        }
        rows.append(row | shared | {"value": "" if lost else repr(value), "reason": lost, "protocol": "grid of 61²"})
    return rows


def _kind(run: dict[str, Any]) -> str:
    return "exact" if run["method"] in ("oracle", "gaussian") else "long"


def _why_lost(run: dict[str, Any], metric: str) -> str:
    """Why a run has no value of a metric; empty if it has one."""
    if run["method"] == "gaussian" and metric == "mode_sampler":
        return "no sampler"
    if run["method"] in ("oracle", "gaussian", "ncsn") and metric in ("r_hat", "ess"):
        return run["reason"] or "no stationary chain was traced"
    return run["reason"] or (NO_ENERGY if run["method"] == "ncsn" and metric in EXACT else "")


def _write_history(file: Path, runs: list[dict[str, Any]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["label", "step", "passes", "loss", "gradient_norm", "learning_rate", "energy_gap"])
        for run in runs:
            for step in range(0, run["step"], 5):
                noise = 0.1 * math.sin(step * (run["seed"] + 1.7))
                loss = math.exp(-step / 100) + noise
                last = run["status"] == "diverged" and step + 5 >= run["step"]
                writer.writerow([run["label"], step, step * 40, "nan" if last else loss, 1 + noise, 1e-3, -loss])


def _write_maps(file: Path, dataset: str, runs: list[dict[str, Any]]) -> None:
    x = np.linspace(-3.5, 3.5, 61)
    angles = np.arange(8) * math.pi / 4 if dataset == "eight_gaussians" else np.linspace(0, math.pi, 30)
    centres = 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    truth = _mixture(x, centres, 0.3)
    arrays = {"x": x, "y": x, "truth": truth, "composed_truth": truth**2, "turn": np.array(45.0)}
    for run in runs:
        generator = np.random.default_rng(run["seed"])
        width = 0.3 + (1.2 if run["method"] == "gaussian" else min(0.3, run["kl"]))
        if run["method"] != "ncsn":
            arrays[f"model:{run['label']}"] = _mixture(x, centres, width)
            arrays[f"composed:{run['label']}"] = _mixture(x, centres, width) ** 2
            arrays[f"composed_kl:{run['label']}"] = np.array(2 * run["kl"])
        chosen = centres[generator.integers(len(centres), size=300)]
        ends = chosen + width * generator.normal(size=(300, 2))
        arrays[f"samples:{run['label']}"] = ends
        if run["method"] not in ("oracle", "gaussian"):
            starts = 1.5 * generator.normal(size=(300, 2))
            steps = np.array([0, 1, 10, 100])
            arrays[f"path:{run['label']}"] = np.stack([starts + (ends - starts) * s / 100 for s in steps], 1)
            arrays[f"path_steps:{run['label']}"] = steps
    np.savez(file, **arrays)


def _mixture(x: Any, centres: Any, width: float) -> Any:
    grid = np.stack(np.meshgrid(x, x), axis=-1)
    squares = ((grid[:, :, None, :] - centres) ** 2).sum(axis=-1)
    return np.exp(-squares / (2 * width**2)).mean(axis=-1) / (2 * math.pi * width**2)

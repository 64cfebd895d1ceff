"""Time and memory under heavy load: `python -m benchmarks.load` prints a Markdown table.

Every case runs in a process of its own, so that its peak memory is its own. The first row is what imports alone take.
"""

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
METRICS = ["kl", "fisher", "mode_sampler", "mmd", "sliced_wasserstein", "off_support", "log_likelihood"]
HEAD = {"suite": "load", "samples": "", "error": "", "n": 1000, "direction": "lower", "protocol": "none", "reason": ""}
HEAD |= {"status": "ok", "verdict": "ok", "verdict_reason": ""}


def import_stages(folder: Path) -> str:
    """Import torch and the stages, and do nothing."""
    import ebmbench.stages.evaluate  # noqa: F401

    return "imports only"


def plan_runs(folder: Path, seeds: int = 10, sweep: int = 100) -> str:
    """Check the parameters of a cell of a thousand runs, and compute the digest of every run."""
    from ebmbench.config.params import load_params
    from ebmbench.core.dataset import Facts
    from ebmbench.experiment.sweep import cell_jobs
    from ebmbench.stages.preparation import prepare_workspace

    text = (ROOT / "params.yaml").read_text(encoding="utf-8").replace("[0, 1, 2]", str(list(range(seeds))), 1)
    sigmas = [round(0.001 * i, 3) for i in range(1, sweep + 1)]
    (folder / "params.yaml").write_text(text.replace("sigma: 0.07", f"sigma: {sigmas}", 1), encoding="utf-8")
    shutil.copytree(ROOT / "ebmbench" / "data", folder / "ebmbench" / "data")  # the sources of the datasets
    params = load_params(folder)
    facts = Facts("two_moons", [2], 1, 1, [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], 1.0, "none", "none")
    prepare_workspace(folder, params)
    digests = {job.digest() for job in cell_jobs(params, "dsm", facts)}
    return f"{len(digests)} different runs"


def judge_points(folder: Path, count: int = 100_000) -> str:
    """Judge two-dimensional samples by the metrics that need samples."""
    import torch

    from ebmbench.config.registry import load
    from ebmbench.config.sections import Metrics
    from ebmbench.core.dataset import Facts
    from ebmbench.core.streams import stream
    from ebmbench.data.two_moons import density
    from ebmbench.metrics.common.evaluation import Evaluation, Subject

    torch.set_num_threads(1)
    truth = density()
    x, test = (truth.sample(count, stream(0, "load", name)).float() for name in ("samples", "test"))
    facts = Facts.of("two_moons", test.numpy(), test.numpy(), licence="none", hash="none")
    e = Evaluation(Subject(None, x, kind="exact"), test, truth, facts, Metrics())
    found = {name: load("metrics", name).compute(e).value for name in ("mmd", "sliced_wasserstein", "mode_sampler")}
    return f"{count} samples: " + ", ".join(f"{name} {value:.1e}" for name, value in found.items())


def judge_images(folder: Path, count: int = 100_000) -> str:
    """Judge images of 8×8 by FID, KID, IS, precision and recall on the features of a classifier."""
    import torch

    from ebmbench.config.sections import Metrics
    from ebmbench.core.dataset import load_facts, read_split
    from ebmbench.metrics.common.evaluation import Evaluation, Subject
    from ebmbench.metrics.common.fidelity import fidelity
    from ebmbench.stages.features import make_features
    from ebmbench.stages.prepare import prepare

    torch.set_num_threads(1)
    (folder / "params.yaml").write_text(
        "benchmark: {suite: load, seeds: [0], datasets: [digits], methods: [dsm], metrics: [fid]}\n"
        "datasets: {digits: {source: ebmbench/data/digits.py, train: 1297, test: 500}}\nmethods: {dsm: {}}\n"
    )
    (folder / "ebmbench" / "data").mkdir(parents=True)
    (folder / "ebmbench/data/digits.py").write_bytes((ROOT / "ebmbench/data/digits.py").read_bytes())
    prepare(folder, "digits")
    make_features(folder, "digits")
    data = folder / "prepared" / "digits"
    train, test = read_split(data, "train"), read_split(data, "test")
    noise = 0.1 * torch.randn(count, *train.shape[1:], generator=torch.Generator().manual_seed(0))
    x = train[torch.arange(count) % len(train)] + noise
    e = Evaluation(Subject(None, x), test, None, load_facts(data), Metrics(), train, folder / "features" / "digits")
    found = fidelity(e)
    return f"{count} images: FID {found.fid:.2f}, precision {found.precision:.2f}, recall {found.recall:.2f}"


def search_neighbours(folder: Path, count: int = 100_000) -> str:
    """Precision and recall of as many generated images as real ones, 64 features each: 4 count² distances."""
    import torch

    from ebmbench.metrics.common.fidelity import NEIGHBOURS
    from ebmbench.metrics.common.neighbours import precision_and_recall

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    real, generated = (torch.randn(count, 64, dtype=torch.float64, generator=generator) for _ in range(2))
    precision, recall = precision_and_recall(generated, real, NEIGHBOURS)
    return f"{count} against {count}: precision {precision:.3f}, recall {recall:.3f}"


def report_rows(folder: Path, rows: int = 10_000) -> str:
    """Write the report of a suite of three datasets and seven methods with so many rows."""
    from ebmbench.config.params import load_params
    from ebmbench.config.schema import read_yaml
    from ebmbench.report.build import build
    from ebmbench.report.results.table import load_results

    (folder / "params.yaml").write_text((ROOT / "params.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    benchmark = load_params(folder).benchmark
    cells = [(dataset, method) for dataset in benchmark.datasets for method in benchmark.methods]
    seeds = -(-rows // (len(cells) * len(METRICS)))
    for dataset, method in cells:
        _write_cell(folder, dataset, method, seeds)
    out = build(folder, read_yaml(folder / "params.yaml"))
    return f"{len(load_results(out))} rows"


def _write_cell(root: Path, dataset: str, method: str, seeds: int) -> None:
    cell = root / "runs" / "quick" / dataset / method
    labels = {f"seed={seed}": f"{dataset}{method}{seed}" for seed in range(seeds)}
    for label, digest in labels.items():
        status = {"label": label, "digest": digest, "status": "ok", "reason": None, "step": 9, "seed": int(label[5:])}
        _write_json(cell / "train" / label / "status.json", status)
        (cell / "sample" / label).mkdir(parents=True)
    _write_json(root / "prepared" / dataset / "facts.json", {"name": dataset})
    _write_json(cell / "metrics.json", {label: {"digest": digest} for label, digest in labels.items()})
    place = {"dataset": dataset, "method": method, "settings": ""}
    with (cell / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        names = [*HEAD, *place, "seed", "label", "digest", "metric", "value"]
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for seed, (label, digest) in enumerate(labels.items()):
            run = {**HEAD, **place, "seed": seed, "label": label, "digest": digest}
            spread = len(method) + (seed * 7919 % 101) / 101
            writer.writerows({**run, "metric": name, "value": spread / (1 + i)} for i, name in enumerate(METRICS))


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def train_long(folder: Path, budget: int = 4_000_000) -> str:
    """Train a small network for long; show the memory in use at tenths of the budget, in MiB."""
    import torch

    from ebmbench.config.registry import load
    from ebmbench.config.sections import Training
    from ebmbench.core.dataset import Facts
    from ebmbench.training.job import Job
    from ebmbench.training.trainer import Trainer

    torch.set_num_threads(1)
    x = torch.randn(5000, 2, generator=torch.Generator().manual_seed(0))
    facts = Facts.of("normal", x.numpy(), x.numpy(), licence="none", hash="none")
    training = Training(budget=budget, batch_size=64, rows=10)
    job = Job("mle", load("methods", "mle").Settings(), {}, 0, training, load("models", "mlp").Settings(width=8), facts)
    trainer, used = Trainer(job, x), []
    while trainer.progress < 1:
        trainer.advance()
        used.append(read_memory())
    grown = used[-1] - used[len(used) // 5]
    return f"{trainer.step} steps, {' '.join(f'{one:.0f}' for one in used)}: {grown:+.1f} after the first fifth"


def read_memory() -> float:
    """Memory that this process uses now, in MiB."""
    import psutil

    return float(psutil.Process().memory_info().rss) / 2**20


CASES: dict[str, Callable[[Path], str]] = {
    "imports": import_stages,
    "plan 1 000 runs of one cell": plan_runs,
    "judge 100 000 points": judge_points,
    "judge 100 000 images": judge_images,
    "neighbours of 100 000 features": search_neighbours,
    "report 10 000 rows": report_rows,
    "train for long": train_long,
}


def measure(name: str) -> dict[str, Any]:
    """Run one case in this process."""
    from ebmbench.training.run import peak_memory

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = CASES[name](Path(folder))
        seconds = time.perf_counter() - start
    return {"case": name, "seconds": seconds, "peak": peak_memory(), "result": result}


def main(argv: list[str] | None = None) -> int:
    """Run all cases, or those that are named, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"some of: {', '.join(CASES)}")
    parser.add_argument("--one", choices=list(CASES), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.one:
        print(json.dumps(measure(options.one)))
        return 0
    print("| case | seconds | peak memory, MiB | |\n| --- | ---: | ---: | --- |")
    for name in options.cases or CASES:
        command = [sys.executable, "-m", "benchmarks.load", "--one", name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode:
            print(f"| {name} | failed | | {done.stderr.strip().splitlines()[-1]} |")
            return 1
        one = json.loads(done.stdout.splitlines()[-1])
        print(f"| {one['case']} | {one['seconds']:.1f} | {one['peak']:.0f} | {one['result']} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A user's day in one clone: run, run again, change a value, add a seed, break a method, mend it. Nothing is mocked."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import ebmbench
from tests.workflow.conftest import Clone

DRAFT = "reports/tiny/draft"  # a report of edited parameters
CELL = {f"{kind}@two_moons-{{}}" for kind in ("train", "sample", "evaluate")}


def cell(method: str) -> set[str]:
    return {name.format(method) for name in CELL}


def test_one_command_gives_the_report(clone: Clone) -> None:
    printed = clone.run("ebmbench", "run", "--jobs", "2", PREFECT_API_URL="")
    assert "reports/tiny/latest/report.md" in printed
    everything = {
        "prepare@two_moons",
        "features@two_moons",
        "baselines@two_moons",
        "report",
        *cell("nce"),
        *cell("dsm"),
    }
    assert clone.outcomes() == dict.fromkeys(everything, "ran")
    assert "two_moons" in (clone.root / "reports/tiny/latest/report.md").read_text(encoding="utf-8")
    assert clone.stale() == set()


def test_again_nothing_runs(clone: Clone) -> None:
    lock = (clone.root / "dvc.lock").read_bytes()
    outcomes = (clone.root / "work/flow/outcomes.json").stat().st_mtime_ns
    assert "reports/tiny/latest/report.md" in clone.run("ebmbench", "run")
    assert (clone.root / "dvc.lock").read_bytes() == lock
    assert (clone.root / "work/flow/outcomes.json").stat().st_mtime_ns == outcomes


def test_results_load_as_a_frame_and_models_as_models(clone: Clone) -> None:
    frame = ebmbench.load_results(clone.root / "reports/tiny/latest")
    assert set(frame["method"]) == {"oracle", "gaussian", "nce", "dsm"}
    assert frame.loc[frame["metric"] == "kl", "value"].notna().all()
    model = ebmbench.load(clone.root / "runs/tiny/two_moons/dsm/train/seed=0")
    chain = model.sample(5)
    assert model.energy(chain.x).shape == (5,)
    assert model.score(chain.x).shape == (5, 2)


def test_dvcs_own_commands_work(clone: Clone) -> None:
    shown = json.loads(clone.run("dvc", "metrics", "show", "--json"))
    summary = json.loads((clone.root / "reports/tiny/latest/summary.json").read_text())
    assert set(summary["two_moons"]) == {"nce", "dsm"}
    assert shown[""]["data"] == {"reports/tiny/latest/summary.json": {"data": summary}}
    clone.run("dvc", "plots", "show", "--out", "dvc_plots")
    assert (clone.root / "dvc_plots" / "index.html").exists()


@pytest.mark.slow  # test_run.py has it of the samples of one cell
def test_dvc_repro_of_everything_in_another_clone_gives_the_same_bytes(clone: Clone, other_clone: Clone) -> None:
    other_clone.run("dvc", "repro")
    assert other_clone.metrics() == clone.metrics()
    assert len(clone.metrics()) == 3
    ours, theirs = (pd.read_csv(each.root / "reports/tiny/latest/results.csv") for each in (clone, other_clone))
    timing = ["seconds_train", "seconds_sample", "seconds_evaluate", "peak_memory_mb"]
    pd.testing.assert_frame_equal(ours.drop(columns=timing), theirs.drop(columns=timing))


def test_a_changed_value_concerns_only_its_method(clone: Clone) -> None:
    clone.edit("params.yaml", "sigma: 0.1", "sigma: 0.2")
    before = clone.metrics()
    assert f"report: {DRAFT}/report.md (partial or edited: reports/tiny/latest" in clone.run("ebmbench", "run")
    assert clone.outcomes() == dict.fromkeys({*cell("dsm"), "report"}, "ran")
    changed = {path for path, text in clone.metrics().items() if text != before[path]}
    assert changed == {"runs/tiny/two_moons/dsm/metrics.json"}
    assert "other parameters" in clone.run("ebmbench", "report", "release", "0.0.1", code=2)


def test_a_changed_file_concerns_only_what_reads_it(clone: Clone) -> None:
    for path, expected in {
        "ebmbench/methods/dsm.py": {*cell("dsm"), "report"},
        "ebmbench/report/figures/theme.py": {"report"},
        "ebmbench/data/two_moons.py": {"prepare@two_moons", "report"},
        "pipelines/planning/plan.py": set(),
        "ebmbench/cli/main.py": set(),
    }.items():
        before = (clone.root / path).read_text(encoding="utf-8")
        clone.edit(path, "\n", "\n# a comment\n")
        assert clone.stale() == expected, path
        (clone.root / path).write_text(before, encoding="utf-8")


def test_another_seed_trains_one_more_run(clone: Clone) -> None:
    before = clone.trained()
    clone.edit("params.yaml", "seeds: [0]", "seeds: [0, 1]")
    clone.run("ebmbench", "train", "two_moons", "nce")
    assert len(clone.trained() - before) == 1
    runs = clone.root / "runs/tiny/two_moons/nce/train"
    assert {folder.name for folder in runs.iterdir() if folder.is_dir()} == {"seed=0", "seed=1"}
    clone.edit("params.yaml", "seeds: [0, 1]", "seeds: [0]")


def test_a_method_that_fails_stops_nobody_else_and_the_report_names_it(clone: Clone) -> None:
    clone.edit(
        "ebmbench/methods/nce.py", "    ratio = len(noise) / len(x)\n", "    ratio = len(noise) / (len(x) * 0)\n"
    )
    clone.edit("params.yaml", "sigma: 0.2", "sigma: 0.3")
    printed = clone.run("ebmbench", "run", code=1)
    assert "train@two_moons-nce" in printed
    outcomes = clone.outcomes()
    assert outcomes["train@two_moons-nce"] == "failed"
    assert outcomes["evaluate@two_moons-dsm"] == outcomes["report"] == "ran"
    text = (clone.root / DRAFT / "report.md").read_text(encoding="utf-8")
    assert "ZeroDivisionError" in text
    frame = ebmbench.load_results(clone.root / DRAFT)
    assert set(frame.loc[frame["method"] == "nce", "status"]) == {"failed"}


def test_mended_it_runs_again_and_the_report_of_a_suite_that_has_the_value_too_is_no_draft(clone: Clone) -> None:
    clone.edit("ebmbench/methods/nce.py", "(len(x) * 0)", "len(x)")
    clone.edit("suites/tiny.yaml", "sigma: 0.1", "sigma: 0.3")
    clone.run("ebmbench", "run")
    frame = ebmbench.load_results(clone.root / "reports/tiny/latest")
    assert set(frame["status"]) == {"ok"}
    assert not (clone.root / DRAFT).exists()


def test_it_is_released_once(clone: Clone) -> None:
    clone.run("ebmbench", "report", "release", "0.0.1")
    assert (clone.root / "reports/tiny/0.0.1/report.md").exists()
    assert "0.0.1" in clone.run("ebmbench", "report", "release", "0.0.1", code=2)
    assert clone.stale() == set()


def test_a_method_of_ones_own_is_one_file(clone: Clone) -> None:
    """The contributing guide's example, word for word, then what the guide says to do with it."""
    guide = (clone.root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n# ebmbench/methods/blur.py\n(.*?)```", guide, re.DOTALL)
    assert code
    (clone.root / "ebmbench/methods/blur.py").write_text(code[1], encoding="utf-8")
    clone.edit("params.yaml", "methods:\n  nce:", "methods:\n  blur: {sigma: 0.3}\n  nce:")
    clone.edit("params.yaml", "methods: [nce, dsm]", "methods: [nce, dsm, blur]")
    clone.run("ebmbench", "run")
    assert clone.outcomes() == dict.fromkeys({*cell("blur"), "report"}, "ran")
    frame = ebmbench.load_results(clone.root / DRAFT)
    rows = frame[(frame["method"] == "blur") & (frame["metric"] == "fisher")]
    assert set(rows["status"]) == {"ok"}
    assert rows["value"].notna().all()
    assert "| blur |" in (clone.root / DRAFT / "report.md").read_text(encoding="utf-8")
    assert "blur" in clone.run("ebmbench", "list", "methods")


def test_that_run_was_compared_with_the_release_and_left_nothing_stale(clone: Clone) -> None:
    since = json.loads((clone.root / "work/flow/outcomes.json").read_text(encoding="utf-8"))["since"]
    assert since == "since 0.0.1: 0 numbers got worse, 0 got better (reports/tiny/comparison.md)"
    page = (clone.root / "reports/tiny/comparison.md").read_text(encoding="utf-8")
    assert page == clone.run("ebmbench", "compare", "reports/tiny/0.0.1")
    assert "| `two_moons` | blur | – | all " in page
    assert "| `methods.blur.sigma` | `–` | `0.3` |" in page
    assert clone.stale() == set()
    ignored = ["git", "check-ignore", "reports/tiny/comparison.md"]
    assert subprocess.run(ignored, cwd=clone.root, capture_output=True, check=False).returncode == 0


def test_a_dataset_of_ones_own_is_one_entry(clone: Clone) -> None:
    code = "import numpy as np; np.save('mine.npy', np.random.default_rng(0).normal(size=(3000, 3)).astype('float32'))"
    subprocess.run(["python", "-c", code], cwd=clone.root, env=clone.environment(), check=True)
    (clone.root / "spiral.py").write_text(
        "import torch\n\n\ndef sample(count, generator):\n"
        "    t = torch.rand(count, generator=generator) * 9\n"
        "    return torch.stack([t * t.cos(), t * t.sin()], 1)\n"
    )
    clone.edit(
        "params.yaml",
        "two_moons: {source",
        "mine: {source: mine.npy}\n  spiral: {source: spiral.py, train: 3000, test: 1000}\n  two_moons: {source",
    )
    words = [[dataset] for dataset in ("mine", "spiral")]
    commands = [["prepare", *one] for one in words]
    commands += [[stage, *one, "nce"] for one in words for stage in ("train", "sample", "evaluate")]
    # In one process: eight would spend most of their time on importing torch.
    code = f"from ebmbench.cli.main import main\nassert not any([main(words) for words in {commands}])"
    subprocess.run([sys.executable, "-c", code], cwd=clone.root, env=clone.environment(), check=True)
    for dataset in ("mine", "spiral"):
        rows = pd.read_csv(clone.root / f"runs/tiny/{dataset}/nce/rows.csv").set_index(["metric", "seed"])
        assert rows.loc[("sliced_wasserstein", 0), "value"] > 0
        assert "not known" in rows.loc[("kl", 0), "reason"] or "2 dimensions" in rows.loc[("kl", 0), "reason"]
    (clone.root / "spiral.py").write_text((clone.root / "spiral.py").read_text().replace("* 9", "* 8"))
    assert "prepare@spiral" in clone.stale()


def test_the_clone_is_still_clean_of_what_git_should_not_see(clone: Clone) -> None:
    done = subprocess.run(["git", "status", "--porcelain"], cwd=clone.root, capture_output=True, text=True, check=True)
    seen = {Path(line[3:].split("/")[0]).name for line in done.stdout.splitlines()}
    assert seen <= {"params.yaml", "dvc.lock", "reports", "mine.npy", "spiral.py", "suites", "ebmbench"}

"""What a stage costs beyond its own work, in suites of more and more stages."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from benchmarks.runs.clone import Clone, Usage, make_clone, name_revisions
from benchmarks.settings import Settings
from benchmarks.tables import NONE, Section, markdown_table, show_progress

JOBS = 2
METHODS = ("mle", "cd", "nce", "adance", "dsm", "ssm", "ncsn")
STAGES_PER_DATASET = 3 + 3 * len(METHODS)  # prepare, features, baselines; train, sample, evaluate
SUITE = """\
benchmark: {{suite: many, seeds: [0], datasets: [{names}], methods: [{methods}], baselines: [oracle], metrics: [kl]}}
training: {{budget: 10_000, rows: 2, snapshots: []}}
sampling: {{chains: 100, sampler: {{steps: 2}}}}
metrics: {{cells: 32, block: 100}}
datasets:
{datasets}
"""
DATASET = "  {}: {{source: ebmbench/data/two_moons.py, train: 1000, test: 1000}}"


@dataclass(frozen=True)
class Overhead:
    """Core-seconds and wall seconds per stage, without the stages' own work and without the report."""

    stages: int
    core: float
    wall: float


def write_suite(stages: int) -> str:
    """A suite of about so many stages that do nearly nothing: copies of a dataset × all methods, a few steps each."""
    names = [f"moons_{number}" for number in range(max(1, round((stages - 1) / STAGES_PER_DATASET)))]
    entries = "\n".join(DATASET.format(name) for name in names)
    return SUITE.format(names=", ".join(names), methods=", ".join(METHODS), datasets=entries)


def measure(settings: Settings) -> Iterator[Section]:
    """Run suites of all sizes by both versions, each in a fresh clone with an empty `dvc.lock`.

    The older version is spared the largest suites, which may take it an hour.
    """
    revisions = name_revisions(settings.against)
    found: dict[str, list[Overhead]] = {name: [] for name in revisions}
    newest = list(revisions)[-1]
    for size in settings.stages:
        for name, commit in revisions.items():
            if size > settings.patience and name != newest:
                continue
            with tempfile.TemporaryDirectory(prefix="ebmbench-overhead-", ignore_cleanup_errors=True) as folder:
                clone = make_clone(Path(folder, name), commit, "many", write_suite(size))
                (clone.root / "dvc.lock").unlink(missing_ok=True)
                found[name].append(subtract_work(clone, clone.run("run", "--jobs", str(JOBS))))
            show_progress(f"{found[name][-1].stages} stages, {name}: {found[name][-1].core:.2f} core-seconds per stage")
    yield describe_overhead(found)


def subtract_work(clone: Clone, usage: Usage) -> Overhead:
    """What remains of a run's time without the work that was recorded and without the report, per stage."""
    outcomes = clone.read_outcomes()
    report, work = float(outcomes["report"]["seconds"]), clone.read_work()
    stages = len(outcomes) - 1
    return Overhead(len(outcomes), (usage.cpu - report - work) / stages, (usage.wall - report - work / JOBS) / stages)


def describe_overhead(found: Mapping[str, Sequence[Overhead]]) -> Section:
    """The table: core time and wall time per stage, by number of stages and version."""
    heads = [f"{name}, {what}" for what in ("core", "wall") for name in (*found, "ratio")]
    lines = [
        [str(new.stages), *_compare(old and old.core, new.core), *_compare(old and old.wall, new.wall)]
        for old, new in zip_longest(*found.values())
    ]
    text = f"""Suites of many small cells by `ebmbench run --jobs {JOBS}`: copies of `two_moons` × {len(METHODS)}
methods with a budget of a few steps, from an empty `dvc.lock`. Seconds per stage, without the work that runs record and
without the report: *core* is the time of all processes, *wall* what a user waits for."""
    return Section("Overhead per stage", f"{text}\n\n{markdown_table(['stages', *heads], lines)}")


def _compare(old: float | None, new: float) -> list[str]:
    return [NONE, f"{new:.2f}", NONE] if old is None else [f"{old:.2f}", f"{new:.2f}", f"{new / old:.2f}"]

"""A whole suite by this version and by the last release, and how long it takes from an edit to its new numbers."""

import itertools
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.runs.clone import Clone, Usage, describe_differences, make_clone, name_revisions
from benchmarks.settings import Settings
from benchmarks.tables import Section, format_range, format_seconds, markdown_table, show_progress

CELL, FILE = "dsm/two_moons", "ebmbench/methods/dsm.py"
NOTHING, PLAN, EDIT = "run with nothing to do", "`--dry-run` after the edit", "edit to numbers"


def measure(settings: Settings) -> Iterator[Section]:
    """Run a suite by both versions, once with each number of jobs; in the first clones then time edits.

    With one job both run at the same time, each on a core of its own; with more, one after the other.
    """
    for jobs in settings.jobs:
        with tempfile.TemporaryDirectory(prefix="ebmbench-release-", ignore_cleanup_errors=True) as folder:
            commits = name_revisions(settings.against)
            clones = {name: make_clone(Path(folder, name), commit, settings.suite) for name, commit in commits.items()}
            stages = max(clone.count_stages() for clone in clones.values())
            usages = _run_together(clones) if jobs == 1 else _run_in_turn(clones, jobs)
            yield _describe_suite(clones, usages, stages, jobs)
            if jobs == settings.jobs[0]:
                yield describe_edits(time_edits(clones, jobs, settings.runs), settings.runs)


def _run_together(clones: Mapping[str, Clone]) -> dict[str, Usage]:
    with ThreadPoolExecutor(len(clones)) as pool:
        cores = itertools.cycle(sorted(os.sched_getaffinity(0)))
        going = {name: pool.submit(clone.run, "run", "--jobs", "1", core=next(cores)) for name, clone in clones.items()}
        return {name: one.result() for name, one in going.items()}


def _run_in_turn(clones: Mapping[str, Clone], jobs: int) -> dict[str, Usage]:
    usages = {}
    for name, clone in clones.items():
        usages[name] = clone.run("run", "--jobs", str(jobs))
        show_progress(f"whole suite, {name}: {usages[name].wall:.0f} s")
    return usages


def _describe_suite(clones: Mapping[str, Clone], usages: Mapping[str, Usage], stages: int, jobs: int) -> Section:
    suite = next(iter(clones.values())).suite
    how = "both at the same time, each on a core of its own" if jobs == 1 else "one after the other"
    text = f"""`ebmbench run --jobs {jobs}` of all {stages} stages of the suite `{suite}`, each version in a fresh
clone, {how}. Core time is that of all processes. Work is what runs record of training, sampling and evaluating; the
rest is preparing data, drawing the report, starting programs, DVC and Prefect."""
    old, new = clones.values()
    same = describe_differences(old.read_numbers(), new.read_numbers())
    work = {name: clone.read_work() for name, clone in clones.items()}
    return Section(
        f"The suite `{suite}` with {jobs} job{'s' if jobs > 1 else ''}, against the last release",
        f"{text}\n\n{render_suite(usages, work)}\n\n{same}",
        make_headline(usages, suite, jobs, "the same numbers" if "same numbers" in same else "other numbers"),
    )


def render_suite(usages: Mapping[str, Usage], work: Mapping[str, float]) -> str:
    """A table of what both versions took, and the ratio."""
    lines = {
        "wall, s": [one.wall for one in usages.values()],
        "core time, s": [one.cpu for one in usages.values()],
        "work, s": [*work.values()],
        "peak memory, MiB": [one.peak_mb for one in usages.values()],
    }
    table = [[name, *map(format_seconds, values), f"{values[1] / values[0]:.2f}"] for name, values in lines.items()]
    shares = [work[name] / one.cpu for name, one in usages.items()]
    table.insert(3, ["share of core time that is work", *(f"{share:.0%}" for share in shares), ""])
    return markdown_table(["", *usages, "ratio"], table)


def make_headline(usages: Mapping[str, Usage], suite: str, jobs: int, numbers: str) -> str:
    """The wall time of both versions in one sentence; with one job the run with more has said it already."""
    if jobs == 1:
        return ""
    (old, new), (before, now) = usages, (one.wall for one in usages.values())
    seconds = f"{format_seconds(now)} s against {format_seconds(before)} s"
    return (
        f"From a clone to the report of the suite `{suite}`, {new} takes **{now / before:.2f}** of the time of {old} "
        f"({jobs} jobs, {seconds}) and finds {numbers}."
    )


def time_edits(clones: Mapping[str, Clone], jobs: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Wall seconds of all rounds, by what is done and by version; versions take turns."""
    found: dict[str, dict[str, list[float]]] = {what: {name: [] for name in clones} for what in (NOTHING, PLAN, EDIT)}
    for number in range(rounds):
        for name, clone in clones.items():
            found[NOTHING][name].append(clone.run("run").wall)
            show_progress(f"round {number + 1}, {name}: {NOTHING}: {found[NOTHING][name][-1]:.1f} s")
    for number in range(rounds):
        for name, clone in clones.items():
            with (clone.root / FILE).open("a", encoding="utf-8") as code:
                code.write(f"\n_EDIT_{number} = {number}\n")
            found[PLAN][name].append(clone.run("run", "--dry-run").wall)
            found[EDIT][name].append(clone.run("run", "--only", CELL, "--jobs", str(jobs)).wall)
            show_progress(f"round {number + 1}, {name}: {EDIT}: {found[EDIT][name][-1]:.1f} s")
    return found


def describe_edits(found: Mapping[str, Mapping[str, Sequence[float]]], rounds: int) -> Section:
    """The table of edits, and the sentence about them."""
    lines = []
    for what, times in found.items():
        old, new = (statistics.median(values) for values in times.values())
        lines.append([what, *map(format_range, times.values()), f"{new / old:.2f}"])
    text = f"""In the clones that have just run: a line of code is added to `{FILE}`, and `ebmbench run --only {CELL}`
trains, samples, judges and writes the report anew. Wall seconds, median of {rounds} (smallest–largest)."""
    table = markdown_table(["", *found[EDIT], "ratio"], lines)
    (before, now), name = (statistics.median(values) for values in found[EDIT].values()), next(iter(found[EDIT]))
    headline = f"From an edit of a method to its new numbers and report: {now:.1f} s, **{now / before:.2f}** of {name}."
    return Section("From an edit to its numbers", f"{text}\n\n{table}", headline)

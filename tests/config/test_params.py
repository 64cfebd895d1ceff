"""A mistake in params.yaml is one line that says where, what was found and what is allowed; nothing is written."""

import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from ebmbench.cli.main import main
from ebmbench.config import suites
from ebmbench.config.params import load_params
from ebmbench.config.registry import load, names
from ebmbench.config.schema import check, read_yaml
from ebmbench.errors import UserError
from ebmbench.stages.preparation import prepare_workspace
from pipelines import outcome
from pipelines.planning.plan import Plan

ROOT = Path(__file__).parents[2]

FAULTS = {
    # what to replace: by what, and what the message must say
    "seeds: [0, 1, 2]": [
        ("seeds: [zero]", "benchmark.seeds.0: found 'zero', allowed: a valid integer"),
        ("seeds: [0.5]", "benchmark.seeds.0: found 0.5, allowed: a valid integer"),
        ("seeds: [-1]", "benchmark.seeds.0: found -1, allowed: greater than or equal to 0"),
        ("seeds: [true]", "benchmark.seeds.0: found True, allowed: a valid integer"),
        ("seeds: [0, 0]", "benchmark.seeds: found 0 twice"),
        ("seeds: []", "benchmark.seeds: found \\[\\]"),
        ("seeds: 3", "benchmark.seeds: found 3, allowed: a valid list"),
        ("sedes: [0]", "benchmark.sedes: found an unknown key.*did you mean 'seeds'"),
    ],
    "suite: quick": [("suite: ../up", "benchmark.suite: found '../up'")],
    "budget: 3_000_000": [
        ("budget: -5", "training.budget: found -5, allowed: greater than or equal to 1"),
        ("budget: many", "training.budget: found 'many', allowed: a valid integer"),
        ("bugdet: 5", "training.bugdet: found an unknown key.*did you mean 'budget'"),
    ],
    "methods: [mle, cd,": [("methods: [mle, cdd,", "benchmark.methods: found 'cdd'.*did you mean 'cd'")],
    "- kl_target": [("- kl_targt", "benchmark.metrics: found 'kl_targt'.*did you mean 'kl_target'")],
    "baselines: [oracle, gaussian]": [("baselines: [orakle]", "benchmark.baselines: found 'orakle'.*'oracle'")],
    "datasets: [eight_gaussians,": [("datasets: [eight_gausians,", "found 'eight_gausians'.*'eight_gaussians'")],
    "sigma: 0.05": [
        ("sigma: -1.0", "methods.dsm.sigma: found -1.0, allowed: greater than 0"),
        ("sigma: [0.1, none]", "methods.dsm.sigma: found 'none', allowed: a valid number"),
        ("sigma: []", r"methods.dsm.sigma: found \[\], allowed: one or more different values"),
        ("sigma: [0.1, 0.1]", "methods.dsm.sigma: found .*, allowed: one or more different values"),
        ("sigma: .inf", "methods.dsm.sigma: found inf, allowed: a finite number"),
        ("sgima: 0.1", "methods.dsm.sgima: found an unknown key.*did you mean 'sigma'"),
    ],
    "noise: gaussian": [
        ("noise: gausian", "methods.nce.noise: found 'gausian', allowed: 'gaussian', 'uniform' or 'mixture'")
    ],
    "{kind: jumping, steps: 50,": [
        ("{kind: jumpy, steps: 50,", "sampling.sampler.kind: found 'jumpy', allowed: .*jumping, langevin"),
        ("{kind: jumping, steps: 0,", "sampling.sampler.steps: found 0, allowed: greater than or equal to 1"),
        ("{kind: jumping, stepz: 9,", "sampling.sampler.stepz: found an unknown key.*did you mean 'steps'"),
    ],
    "{kind: mala, steps: 10, step_size: 0.4,": [
        ("{kind: mala, steps: -2, step_size: 0.4,", "methods.mle.sampler.steps: found -2"),
    ],
    "temperature:\n": [("temperature: 0.0\n", "methods.adance.temperature: found 0.0, allowed: greater than 0")],
    "5.0e-2\n    sampler: {kind: mala, steps: 10, step_size: 0.4, truncation: 2.0}": [
        (
            "5.0e-2\n    sampler: {kind: langevin, noise_std: 0.0}",
            "methods.adance: .*a temperature above 0, since the sampler has no noise",
        ),
        (
            "5.0e-2\n    sampler: [{kind: mala}, {kind: mala, steps: 5}]",
            r"methods.adance.sampler: found \['mala', 'mala'\].*by kind",
        ),
    ],
    "model: noise_mlp": [("model: mlp", "methods.ncsn.model: found 'mlp', allowed: networks with noise levels")],
    "width: 64": [("width: 0", "models.mlp.width: found 0, allowed: greater than or equal to 1")],
    "model: mlp": [
        ("model: mlpp", "methods.mle.model: found 'mlpp'.*did you mean 'mlp'"),
        ("model: noise_mlp", "methods.mle.model: found 'noise_mlp', allowed: networks without noise levels"),
    ],
    "ebmbench/data/two_moons.py": [
        ("/etc/two_moons.py", "datasets.two_moons.source: found '/etc/two_moons.py'"),
        ("../two_moons.py", "datasets.two_moons.source: found '../two_moons.py', allowed: a path inside the project"),
        ("two_mons.py", "datasets.two_moons.source: found 'two_mons.py', but there is no such file"),
        ("work/mine.npy", "datasets.two_moons.source: found 'work/mine.npy', allowed: a path outside of work/, runs/"),
        ("./runs/quick/mine.npy", "datasets.two_moons.source: found './runs/quick/mine.npy', allowed: a path outside"),
        ("prepared/two_moons/train.npy", "datasets.two_moons.source: .*allowed: a path outside"),
        ("work/downloads/mine.npy", "datasets.two_moons.source: .*allowed: a path outside"),
        ("two_moons.py, tset: 5", "datasets.two_moons.tset: found an unknown key.*did you mean 'test'"),
    ],
    "block: 1000": [("block: 1000\n  kid_subset: 250", "metrics.kid_subset: found an unknown key")],  # a key of 0.8
    "rows: 200": [("rows: [1", "params.yaml: not readable"), ("rows: 1\n  rows: 2", "params.yaml: not readable")],
}


def project(folder: Path, old: str = "", new: str = "") -> Path:
    shutil.copytree(ROOT / "suites", folder / "suites")
    shutil.copytree(ROOT / "ebmbench" / "data", folder / "ebmbench" / "data")
    suites.use(folder, "quick")
    text = (folder / "params.yaml").read_text(encoding="utf-8")
    assert old in text
    (folder / "params.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "message"), [(old, new, message) for old, faults in FAULTS.items() for new, message in faults]
)
def test_a_fault_is_named_with_file_key_finding_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    root = project(tmp_path, old, new)
    with pytest.raises(UserError) as caught:
        prepare_workspace(root, load_params(root))
    line = str(caught.value)
    assert line.startswith("params.yaml: ")
    assert re.search(message, line)
    assert "\n" not in line


@pytest.mark.parametrize("place", ["work/mine", "runs", "reports/x", "prepared/mnist", "features/../work/../runs/a"])
def test_no_input_may_lie_where_outputs_are_written_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    said = f"found '{place}', allowed: a path outside of work/, runs/, reports/, prepared/, features/"
    root = project(tmp_path)
    text = (root / "params.yaml").read_text(encoding="utf-8")
    for key in ("data.root", "metrics.inception_weights"):
        name = key.partition(".")[2]
        changed = re.sub(rf"\b{name}:[^\n]*", f"{name}: {place}", text, count=1)
        (root / "params.yaml").write_text(changed, encoding="utf-8")
        with pytest.raises(UserError, match=re.escape(f"params.yaml: {key}: {said}")):
            load_params(root)
    (root / "params.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("EBMBENCH_DATA", place)
    with pytest.raises(UserError, match=re.escape(f"EBMBENCH_DATA: {said}")):
        prepare_workspace(root, load_params(root))


def test_a_link_into_an_output_is_refused_and_our_own_downloads_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path, "ebmbench/data/two_moons.py", "mine.py")
    (root / "runs").mkdir()
    shutil.copyfile(ROOT / "ebmbench/data/two_moons.py", root / "runs" / "mine.py")
    (root / "mine.py").symlink_to(root / "runs" / "mine.py")
    with pytest.raises(
        UserError, match=r"datasets\.two_moons\.source: found 'mine\.py', allowed: a path outside of work/"
    ):
        load_params(root)
    (root / "mine.py").unlink()
    shutil.move(root / "runs" / "mine.py", root / "mine.py")
    for place in ("work/downloads", str(root / "work" / "downloads"), "data"):
        monkeypatch.setenv("EBMBENCH_DATA", place)
        prepare_workspace(root, load_params(root))


def test_the_command_ends_with_code_two_one_line_and_nothing_written(tmp_path: Path) -> None:
    root = project(tmp_path, "budget: 3_000_000", "budget: -5")
    before = sorted(path.name for path in root.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "ebmbench", "run"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    error = "error: params.yaml: training.budget: found -5, allowed: greater than or equal to 1"
    assert done.stderr.splitlines() == ["starting: asking DVC what is stale", error]
    assert sorted(path.name for path in root.iterdir()) == before


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("sigma: 0.05", "sgima: 0.1"), "methods.dsm.sgima: found an unknown key"),
        (("{kind: jumping, steps: 50,", "{kind: jumpy, steps: 50,"), "sampling.sampler.kind: found 'jumpy', allowed: "),
        (("", ""), ""),
    ],
)
def test_a_dry_run_checks_all_parameters_as_a_run_does_and_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    edit: tuple[str, str],
    message: str,
) -> None:
    root = project(tmp_path, *edit)
    monkeypatch.chdir(root)
    shutil.copy(ROOT / "dvc.yaml", root)
    monkeypatch.setattr(outcome, "open_warm_dvc", lambda root: nullcontext(Mock()))
    monkeypatch.setattr(outcome, "read_plan", lambda *_: Plan(()))
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    assert main(["run", "--dry-run"]) == (2 if message else 0)
    printed = capsys.readouterr()
    assert printed.err.startswith(f"error: params.yaml: {message}") if message else "nothing to do" in printed.out
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_the_committed_parameters_are_a_suite_without_edits() -> None:
    assert suites.local_edits(ROOT) == []
    assert load_params(ROOT).benchmark.suite == "quick"


@pytest.mark.parametrize("suite", list(suites.available(ROOT)))
def test_every_suite_is_valid(tmp_path: Path, suite: str) -> None:
    root = project(tmp_path)
    suites.use(root, suite)
    prepare_workspace(root, load_params(root))
    assert load_params(root).benchmark.suite == suite


def test_switching_there_and_back_gives_the_same_bytes(tmp_path: Path) -> None:
    root = project(tmp_path)
    before = (root / "params.yaml").read_bytes()
    suites.use(root, "smoke")
    assert (root / "params.yaml").read_bytes() != before
    suites.use(root, "quick")
    assert (root / "params.yaml").read_bytes() == before


def test_a_users_edit_is_not_dropped_without_being_asked_to(tmp_path: Path) -> None:
    root = project(tmp_path, "sigma: 0.05", "sigma: 0.3")
    with pytest.raises(UserError, match=r"methods\.dsm\.sigma"):
        suites.use(root, "smoke")
    suites.use(root, "smoke", force=True)
    assert load_params(root).benchmark.suite == "smoke"


def test_an_unknown_suite_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'quick'"):
        suites.use(project(tmp_path), "quik")


@pytest.mark.parametrize("method", names("methods"))
def test_defaults_in_code_and_in_the_suites_are_the_same(method: str) -> None:
    section = read_yaml(ROOT / "suites" / "defaults.yaml")["methods"][method]
    settings = load("methods", method).Settings
    assert check(settings, section, "defaults.yaml") == settings()

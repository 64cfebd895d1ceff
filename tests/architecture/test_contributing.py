"""The contributing guide's examples are real: put into a copy of the package, they pass every check and train."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"```python\n# (ebmbench/\S+)\n(.*?)```", GUIDE, re.DOTALL))
NAMES = {Path(path).stem for path in EXAMPLES}
COPIED = ("ebmbench", "suites", "dvc.yaml", "pyproject.toml", "tests/__init__.py", "tests/conftest.py")
COPIED += (
    "tests/contracts",
    *(f"tests/report/{name}.py" for name in ("__init__", "suite", "image_suite", "machine_suite", "made")),
)
TRAIN = """
from ebmbench.config.registry import load
from ebmbench.config.sections import Training
from ebmbench.core.dataset import Facts
from ebmbench.core.streams import stream
from ebmbench.training.job import Job
from ebmbench.training.trainer import Trainer

data = load("data", "three_gaussians").density().sample(500, stream(0, "data"))
facts = Facts.of("three_gaussians", data.numpy(), data.numpy(), licence="", hash="")
method, model = load("methods", "blur"), load("models", "quadratic")
training = Training(budget=256, batch_size=32)
job = Job("blur", method.Settings(model="quadratic"), {}, 0, training, model.Settings(), facts)
trainer = Trainer(job, data)
while trainer.progress < 1:
    trainer.advance()
print("steps", trainer.step)
"""
SUITE = """
from pathlib import Path

from ebmbench.config import suites
from ebmbench.config.params import load_params

suites.use(Path.cwd(), "blur")
params = load_params(Path.cwd())
print(params.benchmark.methods, params.methods["blur"])
"""
# Faults that the contract tests must find in a file they have never seen.
FAULTS = {
    "blur": ("normal(x, draw", "torch.randn_like(x) + 0 * normal(x, draw"),
    "box_walk": ("uniform(x, generator) - 1", "torch.rand_like(x) - 1"),
    "quadratic": ("- self.centre)", "- x.flatten(1).mean(0))"),
    "mean_gap": ('NEEDS = ("samples",)', 'NEEDS = ("samples", "density")'),
    "three_gaussians": ("return Mixture(centres, torch.ones(3)", "return Mixture(centres.float(), torch.rand(3)"),
    "seeds": ("    seeds = results", '    results.frame["seed"] = 0\n    seeds = results'),
    "seed_counts": ('folder / "seed', 'folder.parent / "seed'),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and the contract tests, with the guide's files in it."""
    folder = tmp_path_factory.mktemp("project")
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    for path, body in EXAMPLES.items():
        (folder / path).write_text(body, encoding="utf-8")
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": str(folder)}
    environment |= {"HOME": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def contract_tests(folder: Path) -> dict[str, set[str]]:
    """How the contract tests of each example ended."""
    done = run(folder, "-m", "pytest", "tests/contracts", "-v", "-k", " or ".join(NAMES), "-p", "no:cacheprovider")
    lines = re.findall(r"::\w+\[(.*?)\] (PASSED|FAILED|SKIPPED|ERROR)", done.stdout)
    assert lines, done.stdout + done.stderr
    return {name: {end for parameters, end in lines if name in re.split(r"[ -]", parameters)} for name in NAMES}


def test_there_is_an_example_of_each_kind() -> None:
    folders = {Path(path).parent.as_posix().removeprefix("ebmbench/") for path in EXAMPLES}
    assert folders == {"methods", "samplers", "models", "metrics", "data", "report/sections", "report/figures"}


@pytest.mark.parametrize("command", [["ruff", "check"], ["ruff", "format", "--check"]], ids=" ".join)
def test_the_linter_accepts_the_examples(project: Path, command: list[str]) -> None:
    done = run(project, "-m", *command, *EXAMPLES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow  # mypy reads torch without a cache
def test_mypy_accepts_the_examples(project: Path) -> None:
    done = run(project, "-m", "mypy", *EXAMPLES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_contract_tests_find_the_examples_and_accept_them(project: Path) -> None:
    ends = contract_tests(project)
    assert all("PASSED" in found and not found & {"FAILED", "ERROR"} for found in ends.values()), ends


def test_the_contract_tests_find_a_fault_in_each_of_them(project: Path) -> None:
    try:
        for path, body in EXAMPLES.items():
            old, new = FAULTS[Path(path).stem]
            assert old in body
            (project / path).write_text(body.replace(old, new), encoding="utf-8")
        ends = contract_tests(project)
        assert all(found & {"FAILED", "ERROR"} for found in ends.values()), ends  # ERROR: the guard of the generator
    finally:
        for path, body in EXAMPLES.items():
            (project / path).write_text(body, encoding="utf-8")


def test_the_example_method_trains_on_the_example_data_with_the_example_network(project: Path) -> None:
    done = run(project, "-c", TRAIN)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "steps 2\n"


def test_the_example_suite_can_be_used(project: Path) -> None:
    suite = re.search(r"```yaml\n(# Blur.*?)```", GUIDE, re.DOTALL)
    assert suite is not None
    (project / "suites" / "blur.yaml").write_text(suite[1], encoding="utf-8")
    done = run(project, "-c", SUITE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['blur', 'dsm'] {'sigma': 0.3}\n"

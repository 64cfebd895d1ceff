"""What a command or a stage imports, found in a process of its own: a module that is not needed is not waited for.

No time is measured here. What is forbidden is what once took it: torch's compiler, say, takes half as long to import
as torch itself.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"torchvision", "torch_fidelity", "sklearn", "pandas", "matplotlib", "seaborn", "dvc", "prefect", "optuna"}
# Of torch's own: the compiler, and SymPy, which it reckons with.
COMPILER = {"torch._dynamo", "torch._inductor", "sympy"}
PARAMS = """\
benchmark: {suite: tiny, seeds: [0], datasets: [two_moons], methods: [dsm], metrics: [kl, mmd, r_hat, ess]}
training: {budget: 4000, batch_size: 64, rows: 2}
sampling: {chains: 50, sampler: {kind: mala, steps: 20, step_size: 0.02}}
metrics: {cells: 32, projections: 8, block: 25, ais: {chains: 2, temperatures: 2}}
datasets: {two_moons: {source: ebmbench/data/two_moons.py, train: 200, test: 100}}
methods: {dsm: {sigma: 0.2}}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cell so small that each of its stages ends as soon as it has started."""
    folder = tmp_path_factory.mktemp("startup")
    (folder / "params.yaml").write_text(PARAMS, encoding="utf-8")
    (folder / "ebmbench" / "data").mkdir(parents=True)
    source = Path("ebmbench/data/two_moons.py")
    (folder / source).write_bytes((ROOT / source).read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        yield folder


def imported(folder: Path, module: str, *words: str) -> set[str]:
    """The modules that a `main` has imported by its end; help ends it by an exit of its own."""
    code = f"import atexit, sys; atexit.register(lambda: print(*sys.modules)); from {module} import main; "
    command = [sys.executable, "-c", code + "sys.exit(main(sys.argv[1:]))", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("words", ["--help", "run --help", "list"])
def test_help_and_lists_import_nothing_that_computes_or_checks(words: str) -> None:
    found = imported(ROOT, "ebmbench.cli.main", *words.split())
    assert not found & (HEAVY | {"torch", "numpy", "scipy", "pydantic", "ruamel.yaml"})


def test_a_stage_imports_what_it_needs_and_no_more(project: Path) -> None:
    """In the order of the pipeline: each reads what the one before has written."""
    for stage in ("prepare two_moons", "train two_moons dsm", "sample two_moons dsm", "evaluate two_moons dsm"):
        name, *words = stage.split()
        found = imported(project, f"ebmbench.stages.{name}", *words)
        assert not found & (HEAVY | COMPILER), stage
        # r_hat and ess need some of SciPy, but not its statistics, which take longer than all the rest of it.
        assert not found & ({"scipy.stats"} if name == "evaluate" else {"scipy"}), stage
    found = imported(project, "ebmbench.stages.report")
    assert not found & (COMPILER | {"torch", "torchvision", "sklearn", "dvc", "prefect"})
    assert (project / "reports" / "tiny" / "latest" / "report.md").is_file()


def test_the_listing_sees_what_is_imported_late() -> None:
    found = imported(ROOT, "ebmbench.cli.main", "suite", "list")
    assert {"pydantic", "ruamel.yaml"} <= found

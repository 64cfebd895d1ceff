"""Whatever stands in `params.yaml`: it is taken, or refused in one line that names the file; nothing else happens."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebmbench.config import suites
from ebmbench.config.params import load_params
from ebmbench.errors import HIDDEN
from ebmbench.stages.preparation import prepare_workspace
from ebmbench.workspace.layout import suite_of
from pipelines.planning.selection import suite_cells
from tests.config.test_params import project
from tests.inputs import mutations
from tests.inputs.mutations import refusal

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "params.yaml").read_text(encoding="utf-8")
CHECKS = list(HealthCheck)
# Every kind of section once: most of the time goes into reading the file.
SMALL = """\
benchmark: {suite: quick, seeds: [0], datasets: [two_moons], methods: [mle, dsm], metrics: [kl, mmd]}
training: {budget: 1000, clip: 100.0, device: cpu, snapshots: [0.1]}
models: {mlp: {width: 64}}
sampling: {sampler: {kind: mala, steps: 2}, kinds: [long]}
metrics: {ais: {chains: 2}}
datasets: {two_moons: {source: ebmbench/data/two_moons.py, overrides: {training: {budget: 5}}}}
methods: {mle: {sampler: {kind: langevin, noise_std: 0.1}}, dsm: {sigma: [0.1, 0.2]}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("project"))


def hold(root: Path, body: bytes) -> None:
    """Write the file, and let everything that reads it have its say."""
    file = root / "params.yaml"
    file.write_bytes(body)
    before = sorted(path for path in root.rglob("*") if path.is_file())
    refused = [
        refusal(act) for act in (lambda: prepare_workspace(root, load_params(root)), lambda: suites.local_edits(root))
    ]
    for line in refused:
        assert line is None or line.startswith("params.yaml: ")
        assert line is None or len(line) < 2000
        assert not [c for c in line or "" if unicodedata.category(c) in HIDDEN]
    if refused[0] is None:
        assert suite_cells(root)
        assert (root / "runs" / suite_of(root)).resolve().is_relative_to(root.resolve())
    assert file.read_bytes() == body
    assert sorted(path for path in root.rglob("*") if path.is_file()) == before


@settings(max_examples=100, deadline=None, database=None, derandomize=True, suppress_health_check=CHECKS)
@given(body=mutations.files(SMALL))
def test_a_hundred_mutated_files_are_taken_or_refused_in_one_line(folder: Path, body: bytes) -> None:
    hold(folder, body)


@pytest.mark.slow
@settings(max_examples=2500, deadline=None, database=None, suppress_health_check=CHECKS)
@given(body=mutations.files(TEXT))
def test_thousands_of_mutated_files_are_taken_or_refused_in_one_line(folder: Path, body: bytes) -> None:
    hold(folder, body)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, database=None, suppress_health_check=CHECKS)
@given(value=st.text(max_size=30) | st.sampled_from(mutations.TEXTS))
def test_no_name_leaves_the_project(folder: Path, value: str) -> None:
    """A name that is taken is a plain word; a source that is taken lies inside."""
    for key in ("suite: quick", "source: ebmbench/data/two_moons.py"):
        name = key.partition(":")[0]
        hold(folder, TEXT.replace(key, f"{name}: {value!r}".replace("'", '"'), 1).encode("utf-8", "surrogatepass"))

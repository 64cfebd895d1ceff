"""The shell around a stage: what it refuses, what it leaves behind."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from ebmbench.cli.main import main
from ebmbench.config import params, yaml
from ebmbench.config.params import load_params
from ebmbench.errors import UserError
from ebmbench.stages import inputs
from ebmbench.stages.inputs import require_keys
from ebmbench.stages.runner import run_stage
from ebmbench.workspace import code_hash
from ebmbench.workspace.failures import failure_of
from ebmbench.workspace.files import read_json
from ebmbench.workspace.layout import failure_file, traceback_file
from ebmbench.workspace.reads import Reads
from ebmbench.workspace.record import hash_of

DVC = """\
stages:
  train:
    matrix: {dataset: "${benchmark.datasets}", method: "${benchmark.methods}"}
    cmd: python -m ebmbench.stages.train ${item.dataset} ${item.method}
    params: [training, "methods.${item.method}"]
    deps: ["data/${item.dataset}"]
"""
CLAIMS = """\
  claim:
    matrix: {claim: "${benchmark.claims}"}
    cmd: x
    params: [claims]
  report:
    cmd: x
    params: [metrics.health]
"""
ROOT = Path(__file__).parents[2]
PARAMS = """\
benchmark: {suite: s, seeds: [0], datasets: [a], methods: [dsm, nce], metrics: [kl]}
training: {budget: 1}
datasets: {a: {source: a.py}}
methods: {dsm: {sigma: 0.1}, nce: {ratio: 1}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "dvc.yaml").write_text(DVC)
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "data" / "a").mkdir(parents=True)
    (tmp_path / "data" / "a" / "x").write_text("1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rewrite(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        ("params.yaml", "sigma: 0.1", "sigma: 0.2", "params.yaml: methods.dsm"),
        ("params.yaml", "budget: 1", "budget: 2", "params.yaml: training"),
        ("data/a/x", "1", "2", "data/a"),
    ],
)
def test_an_input_that_changes_while_the_stage_runs_makes_it_fail(
    project: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, named: str
) -> None:
    assert run_stage("train@a-dsm", lambda root: rewrite(root / file, old, new)) == 2
    assert f"{named} changed while the stage ran" in capsys.readouterr().err


def test_what_was_read_before_the_stage_is_no_concern_of_its(project: Path) -> None:
    early = project / "early.npy"
    early.write_bytes(b"1")
    Reads(project).add(early)
    early.write_bytes(b"2")
    assert run_stage("train@a-dsm", lambda root: None) == 0


def test_a_stage_records_what_it_has_read(project: Path) -> None:
    assert run_stage("train@a-dsm", lambda root: None) == 0
    record = read_json(project / "runs/s/a/dsm/record/train.json")
    assert record["params"] == {"training": {"budget": 1}, "methods.dsm": {"sigma": 0.1}}
    assert record["inputs"] == {"data/a": hash_of(project / "data" / "a")}
    assert record["versions"]["torch"] == torch.__version__


def test_weights_that_dvc_cannot_name_are_recorded_and_must_stay(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "dvc.yaml").write_text(DVC.replace("  train:", "  evaluate:"))
    rewrite(project / "params.yaml", "training:", "metrics: {inception_weights: w.pth}\ntraining:")
    (project / "w.pth").write_text("1")
    assert run_stage("evaluate@a-dsm", lambda root: None) == 0
    assert read_json(project / "runs/s/a/dsm/record/evaluate.json")["inputs"]["w.pth"] == hash_of(project / "w.pth")
    assert run_stage("evaluate@a-dsm", lambda root: rewrite(root / "w.pth", "1", "2")) == 2
    assert "w.pth changed while the stage ran" in capsys.readouterr().err


def test_a_stage_that_fails_records_nothing(project: Path) -> None:
    assert run_stage("train@a-dsm", lambda root: rewrite(root / "params.yaml", "budget: 1", "budget: 2")) == 2
    assert not (project / "runs" / "s" / "a").exists()


STARTED = """\
import sys
from pathlib import Path
from ebmbench.workspace.code_hash import freeze
freeze(Path.cwd())
import helper
from ebmbench.stages.runner import run_stage
def work(root):
    (root / "helper.py").write_text(sys.argv[1])
    (root / "result").write_text(str(helper.X))
sys.exit(run_stage("train@a-dsm", work))
"""


@pytest.mark.parametrize(
    ("declared", "left", "code", "said"),
    [
        ("helper.py", "X = 1", 0, ""),
        ("helper.py", "X = 2", 2, "helper.py changed while the stage ran"),
        ("data/a", "X = 1", 2, "helper.py is imported, but dvc.yaml does not list it for this stage"),
    ],
)
def test_code_that_was_loaded_must_be_declared_and_still_be_there(
    project: Path, declared: str, left: str, code: int, said: str
) -> None:
    (project / "helper.py").write_text("X = 1")
    rewrite(project / "dvc.yaml", '["data/${item.dataset}"]', f'["data/a", "{declared}"]')
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(project), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", STARTED, left], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert (project / "result").read_text() == "1"


MATRIX = {
    "train": {"dataset": "", "method": ""},
    "evaluate": {"dataset": "", "method": ""},
    "baselines": {"dataset": ""},
    "claim": {"claim": ""},
}


@pytest.fixture
def helper(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """A package in the project, with a plug-in that imports a file which `dvc.yaml` does not list for the stage."""
    package = project / "ebmbench"
    monkeypatch.setattr(code_hash, "PACKAGE", package)
    monkeypatch.setattr(inputs, "PACKAGE", package)

    def write(kind: str, plugin: str) -> None:
        for name, text in ((plugin, "import ebmbench.helper\n"), (f"stages/{kind}", ""), ("helper", "")):
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / f"{name}.py").write_text(text)
        deps = ["ebmbench/stages", f"ebmbench/{plugin.partition('/')[0]}"]
        body = {"cmd": "x", "deps": deps} | ({"matrix": MATRIX[kind]} if kind in MATRIX else {})
        (project / "dvc.yaml").write_text(json.dumps({"stages": {kind: body}}))

    return write


@pytest.mark.parametrize(
    ("stage", "plugin", "hint"),
    [
        ("train@a-dsm", "methods/dsm", "what methods share belongs into ebmbench/methods/common/"),
        ("train@a-dsm", "samplers/mine", "what samplers share belongs into ebmbench/samplers/common/"),
        ("evaluate@a-dsm", "metrics/mine", "what metrics share belongs into ebmbench/metrics/common/"),
        ("baselines@a", "baselines/mine", "what baselines share belongs into ebmbench/baselines/common/"),
        ("claim@mine", "claims/mine", "what claims share belongs into ebmbench/claims/testing/"),
        ("report", "report/sections/mine", "what sections and figures share belongs into ebmbench/report/"),
        ("report", "report/figures/mine", "what sections and figures share belongs into ebmbench/report/"),
    ],
)
def test_a_plug_in_that_imports_an_undeclared_file_is_named_with_where_the_code_belongs(
    project: Path, helper: Callable[[str, str], None], stage: str, plugin: str, hint: str
) -> None:
    helper(stage.partition("@")[0], plugin)
    with pytest.raises(UserError) as caught:
        inputs.require_declared(project, stage)
    assert str(caught.value).startswith(
        f"{stage}: ebmbench/helper.py is imported by ebmbench/{plugin}.py, but dvc.yaml"
    )
    assert str(caught.value).endswith(hint)


def test_an_undeclared_import_of_a_section_is_refused_before_the_report_is_replaced(
    project: Path, helper: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    helper("report", "report/sections/mine")
    started: list[Path] = []
    assert run_stage("report", started.append) == 2
    assert "ebmbench/helper.py is imported by ebmbench/report/sections/mine.py" in capsys.readouterr().err
    assert not started


@pytest.mark.parametrize(
    ("old", "key"),
    [
        ("training: {budget: 1}\n", "training"),
        (", claims: []", "benchmark.claims"),
        ("metrics: {health: {}}\n", "metrics.health"),
    ],
)
def test_a_key_that_dvc_needs_is_asked_for_before_anything_runs(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, key: str
) -> None:
    rewrite(project / "params.yaml", "metrics: [kl]", "metrics: [kl], claims: []")
    rewrite(project / "params.yaml", "training:", "metrics: {health: {}}\ntraining:")
    (project / "dvc.yaml").write_text(DVC + CLAIMS)
    require_keys(project)
    rewrite(project / "params.yaml", old, "")
    ran: list[Path] = []
    assert run_stage("train@a-dsm", ran.append) == 2
    assert f"params.yaml: {key}: found nothing, but DVC knows no defaults" in capsys.readouterr().err
    assert not ran


def test_the_projects_own_parameters_have_every_key_that_dvc_needs() -> None:
    require_keys(ROOT)


def test_a_crash_without_a_word_is_not_explained_by_an_earlier_failure(project: Path) -> None:
    assert run_stage("train@a-dsm", crash) == 1
    script = (
        "import os; from ebmbench.stages.runner import run_stage; run_stage('train@a-dsm', lambda root: os._exit(9))"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", script], cwd=project, env=env, check=False).returncode == 9
    assert "without a word" in failure_of(project, "s", "train@a-dsm")
    assert not (project / "work" / "failures" / "train_a-dsm.log").exists()


def test_a_stage_parses_and_checks_its_parameters_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{PARAMS}# which no other test has parsed\n"
    (project / "params.yaml").write_text(text)
    parse, check = Mock(wraps=yaml._check_size), Mock(wraps=params.check)
    monkeypatch.setattr(yaml, "_check_size", parse)
    monkeypatch.setattr(params, "check", check)
    assert run_stage("train@a-dsm", lambda root: print(load_params(root))) == 0
    assert [call.args[0] for call in parse.call_args_list].count(text) == 1
    assert check.call_count == 1


def test_an_edit_that_does_not_concern_the_stage_does_not_disturb_it(project: Path) -> None:
    assert run_stage("train@a-dsm", lambda root: rewrite(root / "params.yaml", "ratio: 1", "ratio: 2")) == 0


def crash(root: Path) -> None:
    raise ArithmeticError("too\nlarge")


def unspeakable(root: Path) -> None:
    raise ValueError("no file \udcff\x1b[2J")  # a name that is no text, with a command to the terminal


def test_a_failure_that_cannot_be_encoded_is_told_all_the_same(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_stage("train@a-dsm", unspeakable) == 1
    said = r"ValueError: no file \udcff\x1b[2J"
    assert failure_of(project, "s", "train@a-dsm") == said
    assert r"no file \udcff" in traceback_file(project, "train@a-dsm").read_text(encoding="utf-8")
    assert said in capsys.readouterr().err


def test_a_crash_leaves_its_reason_and_success_removes_it(project: Path) -> None:
    note = failure_file(project, "s", "train@a-dsm")
    assert run_stage("train@a-dsm", crash) == 1
    assert read_json(note) == {"stage": "train@a-dsm", "reason": "ArithmeticError: too large"}
    assert run_stage("train@a-dsm", lambda root: None) == 0
    assert not note.exists()


def test_a_crash_is_one_line_and_its_traceback_is_kept_for_the_author(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = project / "work" / "failures" / "train_a-dsm.log"
    assert run_stage("train@a-dsm", crash) == 1
    line = "error: train@a-dsm: ArithmeticError: too large (traceback: work/failures/train_a-dsm.log)\n"
    assert capsys.readouterr().err == line
    assert "in crash\n" in kept.read_text(encoding="utf-8")
    monkeypatch.setenv("EBMBENCH_DEBUG", "1")
    assert run_stage("train@a-dsm", crash) == 1
    assert "in crash\n" in capsys.readouterr().err
    assert run_stage("train@a-dsm", lambda root: None) == 0
    assert not kept.exists()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device", "data/a/train.npy"), "data/a/train.npy: No space left on device"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_a_lack_of_room_is_one_line_without_a_traceback(
    project: Path, capsys: pytest.CaptureFixture[str], error: Exception, words: str
) -> None:
    def fail(root: Path) -> None:
        raise error

    assert run_stage("train@a-dsm", fail) == 1
    assert capsys.readouterr().err == f"error: train@a-dsm: {words}\n"
    assert failure_file(project, "s", "train@a-dsm").exists()
    assert not traceback_file(project, "train@a-dsm").exists()


def test_a_cell_has_one_owner(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = []
    assert run_stage("train@a-dsm", lambda root: codes.append(run_stage("train@a-dsm", lambda root: None))) == 0
    assert codes == [2]
    assert "another process is running this stage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "two_moons", "dsn"], "did you mean 'dsm'"),
        (["prepare", "to_moons"], "did you mean 'two_moons'"),
        (["baselines", "nowhere"], "datasets: found 'nowhere'"),
    ],
)
def test_an_unknown_cell_is_named_with_the_nearest_and_leaves_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    rewrite(project / "params.yaml", "[a]", "[two_moons]")
    rewrite(project / "params.yaml", "{a: ", "{two_moons: ")
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert not (project / "work").exists()


def test_outside_a_project_the_message_says_what_to_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ebmbench", "run"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "params.yaml: not found" in done.stderr

"""The workspace before a run: `work/` is refilled from `runs/`, old cells go, and what the user put there stays."""

import shutil
from pathlib import Path

import pytest
import torch

from ebmbench.config.params import load_params
from ebmbench.config.schema import read_yaml
from ebmbench.core import checkpoint
from ebmbench.errors import UserError
from ebmbench.stages.preparation import OF_BASELINES, OF_CELL, OF_CLAIM, prepare_workspace, prune, refill
from ebmbench.workspace.cell import Cell
from ebmbench.workspace.failures import note_failure
from ebmbench.workspace.files import write_json, write_text
from ebmbench.workspace.layout import record_file
from ebmbench.workspace.manifest import SAMPLED, TRAINED, materialising
from ebmbench.workspace.record import write_record
from ebmbench.workspace.store import Store
from tests.stages.test_runner import PARAMS

ROOT = Path(__file__).parents[2]
LABEL, DIGEST = "seed=0", "0123456789abcdef"
STATUS = {"label": LABEL, "digest": DIGEST, "status": "ok"}


def finished(cell: Path) -> None:
    """One finished run, as its stages leave it."""
    with materialising(cell / "train", TRAINED) as train:
        checkpoint.save(train / LABEL / "model.safetensors", {"weight": torch.ones(100)}, {})
        write_json(train / LABEL / "status.json", STATUS)
    with materialising(cell / "sample", SAMPLED) as sample:
        write_json(sample / LABEL / "diagnostics.json", {})
    write_json(cell / "cost" / "train.json", {LABEL: {"seconds": 1.0}})
    write_text(cell / "history.csv", "label,step\nseed=0,1\nseed=1,1\n")


@pytest.fixture
def pulled(tmp_path: Path) -> Path:
    """A project with one finished run, as DVC brings it: without `work/`."""
    write_text(tmp_path / "params.yaml", f"{PARAMS}sampling: {{sampler: {{kind: mala}}}}\n")
    write_text(tmp_path / "a.py", "")
    finished(tmp_path / "runs" / "s" / "a" / "dsm")
    return tmp_path


def test_a_finished_run_is_adopted(pulled: Path) -> None:
    refill(pulled, load_params(pulled))
    done = Store(pulled / "work").done(DIGEST)
    assert {path.name for path in done.iterdir()} == {"cost.json", "history.csv", "model.safetensors", "status.json"}
    assert (done / "history.csv").read_text(encoding="utf-8") == "label,step\nseed=0,1\n"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.99])
def test_a_run_that_was_cut_short_is_not(pulled: Path, share: float) -> None:
    (model,) = pulled.rglob("model.safetensors")
    body = model.read_bytes()
    model.write_bytes(body[: int(share * len(body))])
    refill(pulled, load_params(pulled))
    assert not Store(pulled / "work").done(DIGEST).exists()
    assert model.read_bytes() == body[: int(share * len(body))]


@pytest.mark.parametrize("file", ["model.safetensors", "status.json"])
def test_nor_is_one_in_which_a_digit_was_changed(pulled: Path, file: str) -> None:
    (path,) = pulled.rglob(f"train/{LABEL}/{file}")
    path.write_bytes(path.read_bytes().replace(b"ok", b"no").replace(b"\x80\x3f", b"\x81\x3f"))
    refill(pulled, load_params(pulled))
    assert not Store(pulled / "work").done(DIGEST).exists()


@pytest.mark.parametrize("file", ["train/seed=0/status.json", "cost/train.json", "train/manifest.json", "history.csv"])
@pytest.mark.parametrize("body", [b"", b'{"label": "se', b"[1]", b"\xff\xfe\x00"])
def test_a_damaged_file_is_named_in_one_line_and_the_run_goes_on(
    pulled: Path, file: str, body: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pulled / "runs" / "s" / "a" / "dsm" / file
    path.write_bytes(body)
    prepare_workspace(pulled, load_params(pulled))
    printed = capsys.readouterr().err
    named = "" if file == "train/manifest.json" else f"warning: {path}: "
    assert printed.startswith(named)
    assert printed.count("\n") == (1 if named else 0)
    assert path.read_bytes() == body
    assert not list((pulled / "work").glob("*"))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"digest": "../../outside"}, "digest: found '../../outside', allowed: 16 hex digits"),
        ({"digest": 7}, "digest: found '7', allowed: 16 hex digits"),
        ({"digest": "0123456789abcdef\n"}, "digest: found "),
        ({"label": "../../../outside"}, "label: found '../../../outside', allowed: 'seed=0'"),
        ({"label": "seed=1"}, "label: found 'seed=1', allowed: 'seed=0'"),
    ],
)
def test_a_name_in_a_result_that_leads_elsewhere_is_refused_and_nothing_is_written_there(
    pulled: Path, change: dict[str, object], found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = Cell(pulled, "s", "a", "dsm")
    write_json(cell.folder / "train" / LABEL / "status.json", STATUS | change)
    before = sorted(pulled.parent.iterdir())
    prepare_workspace(pulled, load_params(pulled))
    assert found in capsys.readouterr().err
    assert sorted(pulled.parent.iterdir()) == before
    assert not list((pulled / "work").glob("*"))
    with pytest.raises(UserError, match=r"status\.json: .*`ebmbench train a dsm` makes it again"):
        cell.runs()


@pytest.mark.parametrize(
    "file",
    ["runs/s/a/dsm/train/notes.txt", "runs/s/a/dsm/sample/seed=0/mine.npy", "prepared/a/raw.npy", "features/a/x"],
)
def test_a_file_of_the_users_in_an_output_is_named_before_dvc_removes_it(
    pulled: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pulled)
    write_text(pulled / file, "mine")
    with pytest.raises(UserError) as caught:
        prepare_workspace(pulled, load_params(pulled))
    assert str(caught.value) == f"{file}: not written by ebmbench, and lost when its stage runs; move it elsewhere"
    assert (pulled / file).read_text() == "mine"
    assert not (pulled / "work").exists()


def test_datasets_that_the_suite_leaves_out_are_prepared_too_and_so_are_looked_after(pulled: Path) -> None:
    params = (pulled / "params.yaml").read_text(encoding="utf-8")
    write_text(pulled / "params.yaml", params.replace("datasets: {", "datasets: {extra: {source: a.py}, "))
    write_text(pulled / "prepared/extra/notes.txt", "mine")
    with pytest.raises(UserError, match=r"prepared/extra/notes.txt: not written by ebmbench"):
        prepare_workspace(pulled, load_params(pulled))


def test_of_a_cell_that_left_the_suite_only_what_stages_wrote_goes(
    pulled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = pulled / "runs" / "s"
    for cell in ("a/gone", "b/dsm"):
        finished(suite / cell)
    write_text(suite / "b/_baselines/rows.csv", "")
    write_text(suite / "_claims/gone/verdict.json", "{}")
    for stage in ("train@a-gone", "sample@b-dsm", "baselines@b", "claim@gone"):
        write_record(record_file(pulled, "s", stage), stage, {}, {})
    shutil.copytree(suite / "a/gone", suite / "a/copy")
    mine = ["b/dsm/train/seed=0/mine.npy", "b/dsm/cost/mine.csv", "notes/2026/idea.txt", "_claims/old/draft.md"]
    for file in mine:
        write_text(suite / file, "mine")
    (suite / "b/linked").symlink_to(suite / "a")
    for stage in ("train@a-dsm", "train@a-gone", "report"):
        note_failure(pulled, "s", stage, "no space")
    assert prune(pulled, load_params(pulled)) == ["gone", "a/gone", "b/_baselines"]
    left = {path.relative_to(suite).as_posix() for path in suite.rglob("*") if path.is_file()}
    notes = {"_failures/train_a-dsm.json", "_failures/report.json"}  # of what the suite still has
    assert {file for file in left if not file.startswith("a/")} == {*mine, *notes}
    assert (suite / "a/dsm/train" / LABEL / "model.safetensors").is_file()
    assert {path.name for path in (suite / "a").iterdir()} == {"dsm", "copy"}
    told = capsys.readouterr().err.splitlines()
    kept = [line.removeprefix("kept, since no record says that ebmbench wrote it: runs/s/") for line in told]
    assert [line for line in kept if not line.startswith("a/copy/")] == [
        "_claims/old/draft.md",
        "b/dsm/cost/mine.csv (and 1 more)",
        "b/linked",
        "notes/2026/idea.txt",
    ]


def test_the_outputs_that_are_removed_are_those_of_dvc_yaml() -> None:
    stages = read_yaml(ROOT / "dvc.yaml")["stages"]
    known = dict.fromkeys(("train", "sample", "evaluate"), OF_CELL) | {"baselines": OF_BASELINES, "claim": OF_CLAIM}
    for stage, names in known.items():
        outs = [out for key in ("outs", "metrics", "plots") for out in stages[stage].get(key, [])]
        paths = [next(iter(out)) if isinstance(out, dict) else out for out in outs]
        files = ["/".join(path.split("/")[4:]) for path in paths]
        assert [file for file in files if file not in ("train", "sample") and not names.fullmatch(file)] == []

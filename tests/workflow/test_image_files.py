"""Files that are not there, or not whole: one line says what to do, and the report shows the cells with that reason."""

from pathlib import Path

import pytest

import ebmbench
from ebmbench.data.common.files import UNVERIFIED
from ebmbench.workspace.layout import DATA_ROOT
from tests.data.originals import write_idx
from tests.workflow.conftest import Clone, make_clone
from tests.workflow.small_images import PAIR, write_suite

# A proxy that nobody listens at: whatever network the machine has, there is none.
NOTHING = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
NOTHING |= {DATA_ROOT: "", UNVERIFIED: ""}
MOONS = {f"{stage}@two_moons" for stage in ("prepare", "features", "baselines")}
MOONS |= {f"{stage}@two_moons-dsm" for stage in ("train", "sample", "evaluate")}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """No server: by default no flow runs here, and the slow ones start their own."""
    clone = make_clone(tmp_path_factory.mktemp("files"), server="")
    for name, datasets in {"alone": ["mnist"], "beside": ["two_moons", "mnist"]}.items():
        write_suite(clone.root, name, PAIR | {"benchmark": {**PAIR["benchmark"], "datasets": datasets}})
    return clone


def complaint(printed: str) -> str:
    """The only line that says what failed."""
    (line,) = [line for line in printed.splitlines() if line.startswith("failed: ")]
    return line


def check_reason(clone: Clone, suite: str, printed: str) -> None:
    line = complaint(printed)
    for part in ("prepare@mnist", "train-images-idx3-ubyte.gz", DATA_ROOT, "params.yaml: data.root", "docs/data.md"):
        assert part in line
    assert "Traceback" not in printed
    assert "Traceback" not in (clone.root / "work/flow/logs/prepare@mnist.log").read_text(encoding="utf-8")
    frame = ebmbench.load_results(clone.root / "reports" / suite / "latest")
    bad = frame[frame["dataset"] == "mnist"]
    assert set(bad["method"]) == {"_baselines", "dsm"}
    assert set(bad["status"]) == {"failed"}
    text = (clone.root / "reports" / suite / "latest" / "report.md").read_text(encoding="utf-8")
    failures = text.partition("## Failures and skipped")[2].partition("\n## ")[0]
    for part in (*bad["reason"], failures):
        assert "`prepare@mnist`" in part
        assert DATA_ROOT in part
        assert "data.root" in part


@pytest.mark.slow  # that a flow goes on and its report names what failed is in test_day.py
def test_without_files_and_network_one_line_says_so_and_the_report_too(bare: Clone) -> None:
    printed = bare.run("ebmbench", "run", "--suite", "alone", code=1, **NOTHING)
    check_reason(bare, "alone", printed)
    outcomes = bare.outcomes()
    assert outcomes.pop("prepare@mnist") == "failed"
    assert outcomes.pop("report") == "ran"
    assert set(outcomes.values()) == {"blocked"}


@pytest.mark.slow
def test_what_needs_no_files_runs_all_the_same(bare: Clone) -> None:
    printed = bare.run("ebmbench", "run", "--suite", "beside", code=1, **NOTHING)
    check_reason(bare, "beside", printed)
    ran = {name for name, kind in bare.outcomes().items() if kind == "ran"}
    assert ran == {*MOONS, "report"}
    frame = ebmbench.load_results(bare.root / "reports/beside/latest")
    assert set(frame.loc[frame["dataset"] == "two_moons", "status"]) == {"ok"}


def test_without_files_and_network_one_line_says_what_to_do(bare: Clone) -> None:
    bare.run("ebmbench", "suite", "use", "alone")
    (line,) = bare.run("ebmbench", "prepare", "mnist", code=2, **NOTHING).splitlines()
    for part in ("train-images-idx3-ubyte.gz", DATA_ROOT, "params.yaml: data.root", "docs/data.md"):
        assert part in line
    assert not (bare.root / "prepared/mnist").exists()


def test_a_damaged_file_is_named_in_one_line(bare: Clone, tmp_path: Path) -> None:
    bare.run("ebmbench", "suite", "use", "alone")
    write_idx(tmp_path / "mnist")
    file = tmp_path / "mnist" / "train-images-idx3-ubyte"
    file.write_bytes(file.read_bytes()[:-500])
    printed = bare.run("ebmbench", "prepare", "mnist", code=2, **NOTHING | {DATA_ROOT: str(tmp_path)})
    (line,) = printed.splitlines()
    assert line.startswith(f"error: {file}: damaged")
    assert not (bare.root / "prepared/mnist").exists()

"""The report as a whole: golden text, images, determinism, and everything that may be missing."""

import json
import os
import re
import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

from ebmbench.report import build as build_module
from ebmbench.report.build import build
from ebmbench.report.figures import densities, health
from ebmbench.report.page.html import make_anchor
from ebmbench.report.results.suite import Results
from ebmbench.report.results.table import COLUMNS, load_results
from ebmbench.report.sections import papers
from ebmbench.report.text.images import Image
from ebmbench.report.text.words import PROTOCOL
from tests.report.fixtures import DrawOnly, Params
from tests.report.suite import write_records

GOLDEN = Path(__file__).parent


def text_of(report: Path) -> str:
    return (report / "report.md").read_text(encoding="utf-8")


def without_provenance(text: str) -> str:
    """The report without the version, and without the section that tells of the machine."""
    text = re.sub(r"^ebmbench \S+ ·", "ebmbench 0 ·", text, flags=re.MULTILINE)
    return re.sub(r"## Provenance\n.*?(?=\n## Papers)", "## Provenance\n", text, flags=re.DOTALL)


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(("of", "name"), [("report", "golden.md"), ("image_report", "golden_images.md")])
def test_the_report_reads_as_the_golden_file(of: str, name: str, request: pytest.FixtureRequest) -> None:
    """After a wanted change, run once with UPDATE_GOLDEN=1 and read the difference before it is committed."""
    text, golden = without_provenance(text_of(request.getfixturevalue(of))), GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(("of", "count"), [("report", 13), ("image_report", 13)])
def test_every_image_exists_is_small_and_has_a_text(of: str, count: int, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(of)
    images = re.findall(r"!\[(.*?)\]\((.*?)\)", text_of(report))
    assert {path for _, path in images} == {f"figures/{file.name}" for file in (report / "figures").iterdir()}
    assert len(images) == count
    for alt, path in images:
        assert len(alt) > 20
        assert 2_000 < (report / path).stat().st_size < 300_000


@pytest.mark.parametrize("of", ["report", "image_report"])
def test_every_link_leads_somewhere(of: str, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(of)
    text = text_of(report)
    headings = {line[3:].lower().replace(" ", "-") for line in text.splitlines() if line.startswith("## ")}
    found = set(re.findall(r"(?<!!)\[[^\]]*\]\((.*?)\)", text))
    links = {link for link in found if not link.startswith("https://example.org/")}  # of papers
    docs = {link for link in links if link.startswith("../../../docs/")}  # as seen from reports/<suite>/latest
    assert len(links) < len(found)
    assert {"results.csv", f"{PROTOCOL}#metrics", f"{PROTOCOL}#statistics"} <= links
    assert all(leads_somewhere(link.removeprefix("../../../")) for link in docs)
    assert all(link[1:] in headings if link.startswith("#") else (report / link).is_file() for link in links - docs)


def leads_somewhere(link: str) -> bool:
    """Whether a page of the project has this heading."""
    page, _, anchor = link.partition("#")
    lines = (GOLDEN.parents[1] / page).read_text(encoding="utf-8").splitlines()
    return not anchor or anchor in {make_anchor(line.lstrip("# "), []) for line in lines if line.startswith("#")}


def test_no_date_and_no_program_is_written_into_images(report: Path, image_report: Path) -> None:
    for file in (*(report / "figures").iterdir(), *(image_report / "figures").iterdir()):
        content = file.read_bytes()
        traces = [b"<dc:date>", b"<dc:creator>", b"tIME", b"tEXt", matplotlib.__version__.encode()]
        assert not [trace for trace in traces if trace in content]


def test_an_interrupted_build_leaves_the_old_report_and_the_next_gives_the_same_bytes_as_another_project(
    root: Path, params: Params, report: Path
) -> None:
    shutil.copytree(report, root / "reports/tiny/latest")
    before, history = files(report), root / "runs/tiny/two_moons/mle/history.csv"
    good = history.read_bytes()
    history.write_text("not a history\n")
    with pytest.raises(KeyError):
        build(root, params)
    assert files(root / "reports/tiny/latest") == before
    history.write_bytes(good)
    assert files(build(root, params)) == before
    assert [folder.name for folder in (root / "reports/tiny").iterdir()] == ["latest"]


def test_what_somebody_else_put_beside_the_report_stays(
    root: Path, params: Params, report: Path, text_only: None
) -> None:
    report = shutil.copytree(report, root / "reports/tiny/latest")
    mine = {"notes.md": "mine", "figures/mine.png": "mine", "talk/slides.txt": "mine"}
    for name, text in mine.items():
        (report / name).parent.mkdir(exist_ok=True)
        (report / name).write_text(text)
    gone = sorted(report.glob("figures/*.*"))[-1]
    (report / "report.md").write_text(text_of(report) + f"![of a dataset that left](figures/left-{gone.name})\n")
    shutil.copy(gone, gone.with_name(f"left-{gone.name}"))
    build(root, params)
    assert {name: (report / name).read_text() for name in mine} == mine
    assert not gone.with_name(f"left-{gone.name}").exists()


def test_an_empty_runs_folder_gives_a_report_that_says_so(tmp_path: Path, params: Params) -> None:
    out = build(tmp_path, params, tmp_path / "elsewhere")
    assert "partial report: 0 of 8 cells, 8 not run" in text_of(out)
    assert "seed" not in text_of(out).split("## At a glance")[0]
    assert "Not run yet: baselines on `eight_gaussians`, `two_moons`; `mle` on" in text_of(out)
    assert "failed" not in text_of(out).partition("## How to read it")[0]
    assert set(load_results(out)["status"]) == {"not run"}


def test_one_seed_gives_no_interval_and_no_bold(root: Path, params: Params, text_only: None) -> None:
    single = deepcopy(params)
    single["benchmark"]["seeds"] = [0]
    for method in ("mle", "adance", "ncsn", "_baselines"):
        _keep_one_seed(root / "runs/tiny/eight_gaussians" / method)
    single["benchmark"]["datasets"] = ["eight_gaussians"]
    write_records(root, single)
    text = text_of(build(root, single))
    first, table = (text.split(f"## {title}")[1].split("\n## ")[0] for title in ("At a glance", "Main table"))
    assert "There is only one seed" in text
    assert not [mark for mark in ("±", "**") if mark in table + first]
    assert "of the only seed" in first
    assert "| ok |" in table
    assert "is best" not in text
    assert "one seed cannot tell 3 methods apart" in text.split("## At a glance")[0]


def test_a_dataset_without_a_known_density_is_drawn_without_truth(
    root: Path, params: Params, draw_only: DrawOnly
) -> None:
    draw_only(densities)
    for file in (root / "runs/tiny/eight_gaussians").glob("*/pictures.npz"):
        with np.load(file) as stored:
            kept = {name: stored[name] for name in stored.files if name != "truth"}
        np.savez(file, data=np.zeros((9, 2)), **kept)
    for file in (root / "runs/tiny/eight_gaussians").glob("*/rows.csv"):
        rows = pd.read_csv(file, dtype=str, keep_default_na=False)
        rows.loc[rows["metric"] == "kl", ["value", "reason"]] = ["", "the density of the data is unknown"]
        rows.to_csv(file, index=False)
    text = text_of(build(root, params))
    assert "Maps of eight_gaussians: data and the densities of" in text
    assert "the density of the data is unknown" in text


def test_data_that_are_not_two_dimensional_have_no_maps(root: Path, params: Params, draw_only: DrawOnly) -> None:
    draw_only(densities)
    for file in (root / "runs/tiny").glob("*/*/pictures.npz"):
        file.unlink()
    out = build(root, params)
    assert "No maps" in text_of(out)
    assert not list((out / "figures").glob("density-*"))


def test_runs_that_diverged_at_once_leave_a_short_history(root: Path, params: Params, draw_only: DrawOnly) -> None:
    history = root / "runs/tiny/two_moons/mle/history.csv"
    history.write_text("label,step,passes,loss\nseed=0,0,0,1.0\nseed=1,0,0,nan\n")
    draw_only(health)
    out = build(root, params)
    assert (out / "figures/health-two_moons.png").is_file()


def test_unequal_budgets_are_not_called_equal(root: Path, params: Params, text_only: None) -> None:
    rows = root / "runs/tiny/two_moons/mle/rows.csv"
    rows.write_text(rows.read_text(encoding="utf-8").replace("passes,,20000", "passes,,30000"), encoding="utf-8")
    assert "between 20\u202f000 and 30\u202f000 network passes" in text_of(build(root, params))


def test_a_suite_without_misfortunes_says_none(root: Path, params: Params, text_only: None) -> None:
    calm = deepcopy(params)
    calm["benchmark"] |= {"datasets": ["eight_gaussians"], "methods": ["mle"]}
    failures = text_of(build(root, calm)).split("## Failures and skipped")[1].split("##")[0]
    assert failures.strip().startswith("None.")


def test_a_stale_cell_shows_its_reason_and_no_number(root: Path, params: Params, text_only: None) -> None:
    status = root / "runs/tiny/two_moons/mle/train/seed=0/status.json"
    status.write_text(json.dumps(json.loads(status.read_text()) | {"digest": "beef"}))
    text = text_of(build(root, params))
    assert "|  | mle | – | – | – | stale |" in text
    assert "older runs than the models" in text


def test_the_report_never_imports_torch() -> None:
    code = "import sys; import ebmbench.report.release, ebmbench.report.results.table; "
    code += "from ebmbench.report import build; build.find_figures(); "
    code += "print([name for name in ('torch', 'prefect', 'dvc') if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def _keep_one_seed(cell: Path) -> None:
    rows = pd.read_csv(cell / "rows.csv", dtype=str, keep_default_na=False)
    rows[rows["seed"] == "0"].to_csv(cell / "rows.csv", index=False)
    metrics = json.loads((cell / "metrics.json").read_text())
    kept = {label: values for label, values in metrics.items() if label.endswith("seed=0")}
    (cell / "metrics.json").write_text(json.dumps(kept))
    for status in cell.glob("train/**/seed=[12]"):
        shutil.rmtree(status)


def test_a_figure_that_its_section_does_not_show_stands_at_the_sections_end() -> None:
    image = Image("figures/mine.svg", "Bars", "What I drew.")
    results = Results(pd.DataFrame(columns=list(COLUMNS)), {"benchmark": {"suite": "s"}}, images={"papers": [image]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "find_sections", lambda: [papers])
        text = build_module.assemble(results)
    assert text.index("## Papers") < text.index(image.markdown()) < text.index("</details>")
    assert text.count("figures/mine.svg") == 1

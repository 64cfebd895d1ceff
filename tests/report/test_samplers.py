"""Who was sampled by what, as the files say; and a method with a score but no energy."""

import re
from pathlib import Path

from ebmbench.report.build import build
from ebmbench.report.figures import samples
from ebmbench.report.figures.maps import panels
from ebmbench.report.results.frame import collect
from ebmbench.report.results.samplers import read_samplers
from ebmbench.report.results.suite import Results
from ebmbench.report.sections import papers, reading
from tests.report.fixtures import DrawOnly, Params
from tests.report.made import frame_of
from tests.report.printed import table_of
from tests.report.suite import EXACT, NO_ENERGY, write_records


def text_of(report: Path) -> str:
    return (report / "report.md").read_text(encoding="utf-8")


def captions(report: Path) -> list[str]:
    """The captions below the galleries of samples."""
    return re.findall(r"^\*(.*)\*$", text_of(report).split("## Samples")[1].split("## ")[0], flags=re.MULTILINE)


def test_captions_and_text_say_who_was_sampled_by_what(report: Path) -> None:
    first, second, _ = captions(report)  # the last is of the film
    assert first.endswith(
        "Sampled by `mala`: mle, adance interval=5, adance interval=10; by `annealed_langevin`: ncsn."
    )
    assert second.endswith("Sampled by `mala`: mle; by `annealed_langevin`: ncsn.")
    assert "by `mala` for `mle` and `adance`, by `annealed_langevin` for `ncsn`" in text_of(report)


def test_a_run_whose_diagnostics_are_missing_is_not_spoken_of(root: Path, params: Params, draw_only: DrawOnly) -> None:
    draw_only(samples)
    for file in (root / "runs/tiny").glob("*/ncsn/sample/*/diagnostics.json"):
        file.unlink()
    write_records(root, params)
    assert read_samplers(root, collect(root, params)) == {"mala": ["mle", "adance"]}
    report = build(root, params)
    assert [caption.rpartition(", ")[2].rpartition(": ")[2] for caption in captions(report)] == [
        "adance interval=10.",
        "mle.",
    ]
    assert "annealed_langevin" not in text_of(report)


def test_without_any_diagnostics_nothing_is_said_of_samplers(root: Path, params: Params) -> None:
    for file in (root / "runs/tiny").glob("*/*/sample/**/diagnostics.json"):
        file.unlink()
    write_records(root, params)
    frame = collect(root, params)
    assert read_samplers(root, frame) == {}
    assert "Samples were drawn" not in reading.text(Results(frame, root=root))


def test_another_sampler_in_the_file_is_another_sampler_in_the_text(root: Path, params: Params) -> None:
    for file in (root / "runs/tiny").glob("*/mle/sample/*/diagnostics.json"):
        file.write_text('{"sampler": "hmc"}')
    write_records(root, params)
    assert read_samplers(root, collect(root, params))["hmc"] == ["mle"]


def test_a_score_without_an_energy_has_no_exact_metrics_and_all_the_others(report: Path) -> None:
    rows = [row for row in table_of(report, "dataset", "method", "KL ↓") if row[1] == "ncsn"]
    for row in rows:
        assert [text == "–" for text in row[2:]] == [True, False, True, False]
    missing = next(row for row in table_of(report, "metrics", "methods") if row[1] == "ncsn")
    assert missing[0].split(", ") == [f"`{name}`" for name in EXACT]
    assert missing[3] == NO_ENERGY


def test_a_score_without_an_energy_has_samples_and_a_panel_without_a_map(root: Path, params: Params) -> None:
    (panel,) = [one for one in panels(Results(collect(root, params), root=root), "two_moons") if one.name == "ncsn"]
    assert panel.density is None
    assert panel.samples is not None
    assert (panel.note, panel.label, panel.value) == ("no KL", "seed=0", None)


def test_the_remark_of_a_method_is_printed_where_the_method_is(report: Path, root: Path, params: Params) -> None:
    assert "- **ncsn**: Score matching at many levels. It learns" in text_of(report)
    frame = collect(root, params)
    assert "It learns" not in reading.text(Results(frame[frame["method"] != "ncsn"], root=root))


def test_papers_of_the_samplers_that_were_used_are_listed_and_no_others(root: Path, params: Params) -> None:
    def listed() -> list[str]:
        lines = papers.text(Results(collect(root, params), root=root)).splitlines()
        return [line for line in lines if "`mala`" in line or "`hmc`" in line]

    assert listed() == ["- [Author of mala, Journal, 2001](https://example.org/mala): `mala`"]
    for file in (root / "runs/tiny").glob("*/*/sample/**/diagnostics.json"):
        file.write_text('{"long": {"sampler": "hmc, 100 steps"}, "buffer": {"sampler": "the training chains"}}')
    write_records(root, params)
    assert listed() == ["- [Author of hmc, Journal, 2001](https://example.org/hmc): `hmc`"]


def test_the_temperature_of_langevin_chains_on_images_is_told() -> None:
    frame = frame_of({"digits": {"mle": [1.0], "nce": [2.0], "ncsn": [3.0]}}, "fid_ratio", samples="short")
    cold = {"kind": "langevin", "steps": 20, "step_size": 0.5, "noise_std": 0.01}
    own = {"mle": {"sampler": cold}, "ncsn": {"sampler": {"kind": "annealed_langevin", "step_size": 0.1}}}
    params = {
        "methods": {"mle": {"sampler": {"kind": "mala", "step_size": 0.4}}, "nce": {"sampler": None}},
        "datasets": {
            "digits": {"overrides": {"methods": own | {"nce": {"sampler": {"kind": "langevin", "step_size": 0.1}}}}}
        },
    }
    text = reading.text(Results(frame, params, facts={"digits": {"levels": 17}}))
    assert "Langevin chains on `digits` run at the temperature 2.00e−4 for `mle`, 1.00 for `nce`. Far below 1" in text

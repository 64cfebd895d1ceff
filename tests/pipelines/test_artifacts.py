"""What Prefect shows of a report."""

from pathlib import Path

from pipelines.flows.artifacts import without_figures

PAGE = Path(__file__).parents[2] / "reports/quick/latest/report.md"


def test_figures_are_told_in_words_where_their_files_cannot_be_shown() -> None:
    shown = without_figures("before\n\n![a map of two_moons](figures/map.png)\n\n[a link](x.md)\n")
    assert shown == "before\n\n*(figure: a map of two_moons)*\n\n[a link](x.md)\n"


def test_a_real_report_keeps_all_its_lines_and_has_no_image_left() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = without_figures(text)
    assert text.count("](figures/") > 3
    assert "](figures/" not in shown
    assert shown.count("\n") == text.count("\n")

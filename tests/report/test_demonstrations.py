"""Completions of covered images and sums of two energies: what stands where, and nothing without arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ebmbench.report.figures import completions, composition
from ebmbench.report.figures.canvas import GAP
from ebmbench.report.figures.chains import BETWEEN, STEPS, TITLE
from ebmbench.report.figures.maps import panels
from ebmbench.report.results.frame import collect
from ebmbench.report.results.suite import Results, collect_results
from tests.report import machine_suite
from tests.report.fixtures import Params
from tests.report.image_suite import glyphs, write_images

DEMONSTRATED = ("covered", "completed", "composed", "turn")


def put(cell: Path, **arrays: Any) -> None:
    """These arrays in place of those that a suite's cell has."""
    with np.load(cell / "pictures.npz") as stored:
        others = {name: stored[name] for name in stored.files if not name.startswith(DEMONSTRATED)}
    np.savez(cell / "pictures.npz", **others, **arrays)


def flat(grey: int, *count: int) -> Any:
    return np.full((*count, 1, 8, 8), grey, np.uint8)


def read(root: Path, params: Params) -> Results:
    return collect_results(root, params, collect(root, params))


def test_each_method_has_a_block_with_real_covered_and_completed_images(
    tmp_path: Path, image_params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_images(tmp_path)
    cells = root / "runs/pictures/digits"
    for cell in cells.iterdir():
        put(cell)
    everything = {f"completed:seed={seed}": flat(40 + 50 * seed, 8, 4) for seed in (0, 1, 2)}
    put(cells / "mle", covered=flat(10, 8), **everything)
    put(cells / "ncsn", covered=flat(10, 8), **everything)
    put(cells / "nce", covered=flat(10, 8))  # a run whose sampler completes nothing
    seen: list[Any] = []
    draw = completions.draw_blocks
    monkeypatch.setattr(completions, "draw_blocks", lambda blocks, count: seen.append(blocks) or draw(blocks, count))
    results = read(root, image_params)
    (image,) = completions.draw(results, tmp_path / "figures")
    assert [name for name, *_ in seen[0]] == ["mle", "ncsn"]
    rows = results.frame[(results.frame["method"] == "mle") & (results.frame["metric"] == "fid_ratio")]
    short = rows[rows["samples"] == "short"].sort_values("value").iloc[1]  # the median of three
    grey = 40 + 50 * int(short["seed"])
    _, note, images, headings = seen[0][0]
    assert note == f"{short['value']:.3g}"
    assert headings == ["real", "half", "1", "2", "3", "4"]
    assert np.array_equal(images[:, 0], glyphs(64, (1, 8, 8), 0.05, 9)[:8])
    assert np.unique(images[:, 1]).tolist() == [10]
    assert np.unique(images[:, 2:]).tolist() == [grey]
    page = np.asarray(Image.open(tmp_path / image.path).convert("L"))
    x, y = BETWEEN // 2 + 2 * (32 + GAP), TITLE + STEPS
    assert np.unique(page[y : y + 32, x : x + 32]).tolist() == [grey]
    assert image.closed


def test_binary_images_have_them_too_by_their_own_metric(tmp_path: Path) -> None:
    results = machine_suite.write_cell(tmp_path)
    label = f"{machine_suite.VARIANTS[0].replace(', ', '/')}/seed=1"
    assert completions.draw(results, tmp_path / "figures") == []
    put(tmp_path / "runs/s/binary_digits/mle", covered=flat(128, 8), **{f"completed:{label}": flat(255, 8, 4)})
    (image,) = completions.draw(results, tmp_path / "figures")
    assert image.path == "figures/completions-binary_digits.png"
    assert "by mle rbm tempering:" in image.alt
    assert "Number: log-likelihood or bound" in image.caption


def test_sums_of_energies_are_shown_with_their_kl_and_the_truth_first(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, cells = read(root, params), root / "runs/tiny/eight_gaussians"
    for cell in root.glob("runs/tiny/*/*/pictures.npz"):
        put(cell.parent)
    assert composition.draw(results, root / "figures") == []
    found = {one.name: one for one in panels(results, "eight_gaussians")}
    size = len(found["mle"].arrays["x"])
    bump = np.exp(-(np.linspace(-3, 3, size)[:, None] ** 2) - np.linspace(-3, 3, size) ** 2)
    shared = {"composed_truth": bump, "turn": np.array(22.5)}
    own = {f"composed:{found['mle'].label}": 0.5 * bump, f"composed_kl:{found['mle'].label}": np.array(0.1234)}
    put(cells / "mle", **shared, **own)
    seen: list[Any] = []
    show = composition.draw_map
    monkeypatch.setattr(composition, "draw_map", lambda *shown: seen.append(shown) or show(*shown))
    (image,) = composition.draw(results, root / "figures")
    titles = [panel.title for _, panel, *_ in seen]
    assert titles[0] == "truth"
    assert "mle\nKL 0.123" in titles
    assert not any(title.startswith("oracle") for title in titles)
    drawn = {panel.name: density for _, panel, density, _ in seen}
    assert np.allclose(drawn["truth"], bump)
    assert np.allclose(drawn["mle"], 0.5 * bump)
    assert drawn["ncsn"] is None
    assert all(norm.vmax == bump.max() for *_, norm in seen)
    assert "turned by 22.5°" in image.caption
    assert (root / image.path).is_file()

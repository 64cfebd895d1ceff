"""Small suites on disk with every kind of misfortune in them (see `suite`, `image_suite`), and their reports."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ebmbench.config import registry
from ebmbench.report import build as build_module
from ebmbench.report.build import build
from tests.report.image_suite import PARAMS as IMAGE_PARAMS
from tests.report.image_suite import write_images
from tests.report.suite import PARAMS, write_suite

Params = dict[str, Any]
DrawOnly = Callable[[ModuleType], None]

ENTRIES = {
    "methods": {"mle": "Maximum likelihood", "adance": "Self-adapting NCE", "ncsn": "Score matching at many levels"},
    "baselines": {"oracle": "Held-out data", "gaussian": "Moments only", "noisy": "Noisy images"},
    "data": {"eight_gaussians": "Eight modes", "two_moons": "Two arcs", "digits": "Small digits"},
    "metrics": {
        "kl": "KL(data‖model)",
        "fisher": "Relative Fisher divergence",
        "off_support": "Mass off the data",
        "fid_ratio": "FID over that of noisy images",
        "oracle_gap": "Gap to the truth's likelihood",
        "log_likelihood": "Likelihood of held-out data",
    },
    "samplers": {"mala": "Metropolis-adjusted Langevin", "hmc": "Hamiltonian Monte Carlo"},
}


CONSTANTS: dict[str, dict[str, Any]] = {
    "oracle_gap": {"GAP": "kl"},
    "log_likelihood": {"GAP": "oracle_gap", "DIRECTION": "higher"},
    "ncsn": {"REMARK": "It learns smoothed data."},
    "adance": {
        "PUBLISHED": {
            "setting": "interval",
            "source": "Xu 2022, CIFAR-10",
            "values": {"fid": {1: 147.82, 5: 157.17, 50: 310.54}, "inception_score": {1: 4.03, 5: 3.74, 50: 2.61}},
            "about": "The published rows are of CIFAR-10.",
        }
    },
}


@pytest.fixture
def text_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no figure: most of a report's time goes into them."""
    monkeypatch.setattr(build_module, "draw", lambda results, folder: {})


@pytest.fixture
def draw_only(monkeypatch: pytest.MonkeyPatch) -> DrawOnly:
    """Draw no other figure than the one that a test is about."""
    return lambda figure: monkeypatch.setattr(build_module, "find_figures", lambda: [figure])


@pytest.fixture(autouse=True, scope="package")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A registry of fixed entries, so that rewording a docstring elsewhere leaves the golden file alone."""
    package = tmp_path_factory.mktemp("package")
    for kind, entries in ENTRIES.items():
        (package / kind).mkdir()
        for name, title in entries.items():
            text = f'"""{title}."""\nPAPER = "Author of {name}, Journal"\nYEAR = 2001\nLINK = "https://example.org/{name}"\n'
            text += "".join(f"{key} = ''\n" for key in registry.REQUIRED[kind][2:])
            text += "".join(f"{key} = {value!r}\n" for key, value in CONSTANTS.get(name, {}).items())
            (package / kind / f"{name}.py").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "PACKAGE", package)
        registry.entries.cache_clear()
        yield
    registry.entries.cache_clear()


@pytest.fixture(scope="session")
def params() -> dict[str, Any]:
    """`params.yaml` of the suite."""
    return deepcopy(PARAMS)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project folder with the runs of the suite, of one's own to spoil."""
    return write_suite(tmp_path / "project")


# Files of several packages take turns, and a package's fixtures end with each turn: what takes seconds is kept.
_built: dict[str, Path] = {}


@pytest.fixture(scope="package")
def report(tmp_path_factory: pytest.TempPathFactory, params: dict[str, Any]) -> Path:
    """The report of the suite, to read."""
    if "report" not in _built:
        _built["report"] = build(write_suite(tmp_path_factory.mktemp("project")), params)
    return _built["report"]


@pytest.fixture(scope="session")
def image_params() -> dict[str, Any]:
    """`params.yaml` of the suite of images."""
    return deepcopy(IMAGE_PARAMS)


@pytest.fixture(scope="package")
def image_report(tmp_path_factory: pytest.TempPathFactory, image_params: dict[str, Any]) -> Path:
    """The report of the suite of images, to read; its project is four folders above."""
    if "image_report" not in _built:
        _built["image_report"] = build(write_images(tmp_path_factory.mktemp("images")), image_params)
    return _built["image_report"]

"""Settings that do not fit their data or one another are refused before anything is trained, not after."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from ebmbench.config.params import Params, load_params
from ebmbench.config.schema import check
from ebmbench.core.dataset import Facts
from ebmbench.errors import UserError
from ebmbench.experiment.sweep import check_cell
from ebmbench.stages import prepare, sample, train
from ebmbench.stages.preparation import prepare_workspace
from ebmbench.workspace.cell import Cell
from tests.conftest import gaussian_facts
from tests.data.originals import grey

TOY = dataclasses.replace(gaussian_facts(2), name="mine")
CHAINS: dict[str, Any] = {"sampler": {"kind": "langevin", "steps": 2}}
GIBBS: dict[str, Any] = {"kind": "gibbs", "steps": 2}
REAL = "found gibbs for states other than −1 and +1 (or 0 and 1), allowed: a sampler of real states"


def images(side: int = 28, levels: int = 256) -> Facts:
    size = side * side
    return Facts("mine", [1, side, side], 100, 30, [0.0] * size, [], 1.0, "none", "none", levels)


def cell_of(method: str, root: Path = Path()) -> Cell:
    return Cell(root, "tiny", "mine", method)


def tree(method: str, settings: dict[str, Any], **sections: Any) -> dict[str, Any]:
    benchmark = {"suite": "tiny", "seeds": [0], "datasets": ["mine"], "methods": [method], "metrics": ["mmd"]}
    sampling = {"chains": 20, "sampler": {"kind": "mala", "steps": 2}} | sections.pop("sampling", {})
    training = {"budget": 400, "rows": 2, "batch_size": 16} | sections.pop("training", {})
    small = {"mlp": {"width": 4, "layers": 1}, "convnet": {"width": 0.02}}
    whole = {"benchmark": benchmark, "training": training, "models": small, "sampling": sampling}
    return whole | {"datasets": {"mine": {"source": "mine.npy"}}, "methods": {method: settings}} | sections


def refused(method: str, settings: dict[str, Any], facts: Facts | None, **sections: Any) -> str:
    params = check(Params, tree(method, settings, **sections), "params.yaml")
    with pytest.raises(UserError) as caught:
        check_cell(params, cell_of(method), facts)
    return str(caught.value)


def taken(method: str, settings: dict[str, Any], facts: Facts | None, **sections: Any) -> None:
    check_cell(check(Params, tree(method, settings, **sections), "params.yaml"), cell_of(method), facts)


@pytest.mark.parametrize("facts", [None, TOY])
@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (GIBBS, f"sampling.sampler.kind: {REAL}"),
        (
            {"kind": "annealed_langevin", "denoise": True},
            "sampling.sampler.denoise: found true for an energy without noise levels, allowed: false",
        ),
    ],
)
def test_a_sampler_that_cannot_sample_the_energy_is_refused_even_before_data_are_prepared(
    facts: Facts | None, sampler: dict[str, Any], words: str
) -> None:
    line = refused("dsm", {}, facts, sampling={"sampler": sampler})
    assert line == f"params.yaml: {words} (on mine)"
    line = refused("nce", {"sampler": sampler}, facts, sampling={"own": True, "long": 3})
    assert line.startswith("params.yaml: methods.nce.sampler.")


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        ({"kind": "elastic_langevin"}, r"kind: found elastic_langevin for events (2), allowed: for images (C, H, W)"),
        (
            {"kind": "augmented_langevin"},
            r"kind: found augmented_langevin for events (2), allowed: for images (C, H, W)",
        ),
        ({"kind": "independence", "centre": [1.0]}, "centre: found 1 numbers, allowed: 2, one a coordinate"),
    ],
)
def test_a_sampler_that_does_not_fit_the_events_is_refused(sampler: dict[str, Any], words: str) -> None:
    assert f"sampling.sampler.{words}" in refused("dsm", {}, TOY, sampling={"sampler": sampler})
    assert f"methods.mle.sampler.{words}" in refused("mle", {"sampler": sampler}, TOY)
    taken("dsm", {}, None, sampling={"sampler": sampler})
    taken("nce", {"sampler": sampler}, TOY)  # is not used: neither training nor judging asks for it


def test_colour_is_for_images_of_three_channels() -> None:
    dyed = {"kind": "augmented_langevin", "transformations": ["shift", "colour"]}
    words = "transformations: found colour for images of channels: 1, allowed: for images of 3 channels (on mine)"
    assert refused("mle", {"sampler": dyed}, images()) == f"params.yaml: methods.mle.sampler.{words}"
    assert refused("dsm", {}, images(), sampling={"sampler": dyed}) == f"params.yaml: sampling.sampler.{words}"
    taken("mle", {"sampler": dyed}, dataclasses.replace(images(), shape=[3, 28, 28], mean=[0.0] * 3 * 28**2))


VECTOR: dict[str, Any] = {"model": "score_mlp"}


@pytest.mark.parametrize("facts", [None, TOY])
@pytest.mark.parametrize("method", ["dsm", "ssm"])
def test_a_score_without_an_energy_needs_a_sampler_that_asks_for_none(method: str, facts: Facts | None) -> None:
    found = "found mala for the model score_mlp, a score without an energy, allowed: annealed_langevin"
    line = refused(method, VECTOR, facts)
    assert line.startswith(f"params.yaml: sampling.sampler.kind: {found}")
    assert line.endswith(f", there or as methods.{method}.sampler (on mine)")
    taken(method, VECTOR, facts, sampling=CHAINS)
    taken(method, {**VECTOR, **CHAINS}, facts)  # the method's own, in place of the suite's
    taken(method, {**VECTOR, **CHAINS}, facts, sampling={"long": None})
    mala = {"sampler": {"kind": "mala", "steps": 2}}
    assert f"methods.{method}.sampler.kind: {found}" in refused(method, {**VECTOR, **mala}, facts)


@pytest.mark.parametrize("method", ["mle", "ism", "fd_ssm", "nce"])
def test_a_method_that_needs_an_energy_refuses_a_vector(method: str) -> None:
    allowed = "allowed: networks without noise levels (boltzmann, convnet,"
    assert f"methods.{method}.model: found 'score_mlp', {allowed}" in refused(method, VECTOR, None)
    assert "found 'mlp', allowed: networks with noise levels" in refused("ncsn", {"model": "mlp"}, None)


@pytest.mark.parametrize("method", ["mle", "cd", "adance", "adabrm"])
def test_the_sampler_of_training_is_checked_for_every_value_of_a_sweep(method: str) -> None:
    settings = {"sampler": [CHAINS["sampler"], {"kind": "annealed_langevin", "denoise": True}]}
    assert f"methods.{method}.sampler.denoise: found true" in refused(method, settings, TOY)


def test_gibbs_fits_chains_that_start_at_data_of_two_values() -> None:
    for method, settings in (("cd", {}), ("mle", {"init": "data"})):
        taken(method, {**settings, "sampler": GIBBS}, images(8, levels=2))
        taken(method, {**settings, "sampler": GIBBS}, TOY)  # facts do not say which values: the first step will
        assert REAL in refused(method, {**settings, "sampler": GIBBS}, images(8))
        noisy = {"data_noise": 0.1}
        assert REAL in refused(method, {**settings, "sampler": GIBBS}, images(8, levels=2), training=noisy)
    assert REAL in refused("mle", {"sampler": GIBBS}, images(8, levels=2))
    sampling = {"kinds": ["data"], "sampler": GIBBS}
    taken("cd", CHAINS, images(8, levels=2), sampling=sampling)
    assert REAL in refused("cd", CHAINS, images(8), sampling=sampling)


@pytest.mark.parametrize(
    ("method", "model", "facts", "words"),
    [
        ("dsm", "convnet", images(8), "convnet B: found images of [1, 8, 8], allowed: 32×32 or larger"),
        ("dsm", ["mlp", "convnet"], images(28), "convnet B: found images of [1, 28, 28], allowed: 32×32 or larger"),
        ("dsm", "convnet", TOY, "convnet: found data of shape [2], allowed: images (C, H, W)"),
        ("mle", "tiny", TOY, "tiny: found data of shape [2], allowed: images (C, H, W)"),
        ("ncsn", "unet", TOY, "unet: found data of shape [2], allowed: images (C, H, W)"),
    ],
)
def test_a_network_that_does_not_fit_the_events_is_refused(method: str, model: Any, facts: Facts, words: str) -> None:
    assert f"params.yaml: methods.{method}.model: {words} (on mine)" in refused(method, {"model": model}, facts)
    taken(method, {"model": model}, None)


def test_an_exact_trace_of_too_many_coordinates_is_refused() -> None:
    found = "found 81 coordinates on mine, allowed: at most 64, for each takes a backward pass; ssm has no such limit"
    assert refused("ism", {}, images(9)) == f"params.yaml: benchmark.methods: ism: {found}"
    taken("ism", {}, images(8))
    taken("ssm", {}, images(9))


def test_more_chains_than_test_images_are_refused() -> None:
    line = "params.yaml: sampling.chains: found 31 on mine, allowed: at most 30, as many as test images"
    assert refused("dsm", {}, images(), sampling={"chains": 31}) == line
    taken("dsm", {}, images(), sampling={"chains": 30})
    taken("dsm", {}, TOY, sampling={"chains": 10_000})


@pytest.mark.parametrize(("method", "key"), [("mle", "buffer"), ("adance", "buffer"), ("cd", "chains")])
def test_more_samples_than_a_buffer_has_chains_are_refused(method: str, key: str) -> None:
    settings, sampling = {key: 19, **({"persistent": True} if method == "cd" else {})}, {"kinds": ["long", "buffer"]}
    assert "found 20 for a buffer of 19 chains" in refused(method, settings, TOY, sampling=sampling)
    taken(method, {**settings, key: 20}, TOY, sampling=sampling)
    taken(method, settings, TOY)
    if method != "adance":
        without = {"mle": {"init": "noise"}, "cd": {"persistent": False}}[method]
        taken(method, {**settings, **without}, TOY, sampling=sampling)


def test_a_long_run_by_a_methods_own_sampler_needs_its_steps() -> None:
    assert "sampling.long: found null with own: true" in refused("mle", CHAINS, None, sampling={"own": True})
    taken("dsm", {}, None, sampling={"own": True})
    taken("ncsn", {"model": "noise_mlp"}, TOY, sampling={"own": True})


@pytest.mark.parametrize("name", ["nowhere.safetensors", "weights.pth"])
def test_weights_of_inception_that_are_not_there_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "weights.pth").touch()
    params = check(Params, tree("dsm", {}, metrics={"inception_weights": name}), "params.yaml")
    with pytest.raises(UserError, match=rf"^params\.yaml: metrics\.inception_weights: found '{name}', allowed: "):
        check_cell(params, cell_of("dsm", tmp_path), None)


def test_values_of_a_datasets_overrides_are_what_counts() -> None:
    entry = {"source": "mine.npy", "overrides": {"sampling": {"chains": 31}, "methods": {"dsm": {"model": "tiny"}}}}
    assert "found 31 on mine" in refused("dsm", {}, images(), datasets={"mine": entry})
    assert "methods.dsm.model: tiny" in refused("dsm", {}, TOY, datasets={"mine": entry})


def write(root: Path, whole: dict[str, Any]) -> Params:
    with (root / "params.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(whole, file)
    return load_params(root)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fifty images of 8×8, prepared: ten of them for testing."""
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "mine.npy", grey(50, 0, 8, 8))
    write(tmp_path, tree("dsm", {}))
    assert prepare.main(["mine"]) == 0
    return tmp_path


def test_training_begins_with_the_check(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, tree("dsm", {}))
    assert train.main(["mine", "dsm"]) == 2
    line = "error: params.yaml: sampling.chains: found 20 on mine, allowed: at most 10, as many as test images\n"
    assert capsys.readouterr().err == line
    assert not (project / "runs" / "tiny" / "mine").exists()
    assert not list((project / "work").rglob("*.safetensors"))
    write(project, tree("dsm", {}, sampling={"chains": 10}))
    assert [stage.main(["mine", "dsm"]) for stage in (train, sample)] == [0, 0]


def test_planning_knows_the_facts_of_data_that_are_prepared(project: Path) -> None:
    with pytest.raises(UserError, match=r"sampling\.chains: found 20 on mine, allowed: at most 10"):
        prepare_workspace(project, write(project, tree("dsm", {})))
    with pytest.raises(UserError, match=r"methods\.dsm\.model: convnet B: found images of"):
        prepare_workspace(project, write(project, tree("dsm", {"model": "convnet"}, sampling={"chains": 10})))
    assert not (project / "runs" / "tiny" / "mine").exists()
    prepare_workspace(project, write(project, tree("dsm", {}, sampling={"chains": 10})))


@pytest.mark.parametrize("change", ["entry", "source", "damage", "nothing"])
def test_facts_of_another_state_of_the_data_refuse_nothing(project: Path, change: str) -> None:
    whole = tree("dsm", {})
    if change == "entry":
        whole["datasets"]["mine"]["test"] = 20
    elif change == "source":
        np.save(project / "mine.npy", grey(200, 0, 8, 8))
    elif change == "damage":
        (file,) = project.glob("*/mine/facts.json")
        file.write_text("{", encoding="utf-8")
    params = write(project, whole)
    if change == "nothing":
        with pytest.raises(UserError, match="as many as test images"):
            prepare_workspace(project, params)
    else:
        prepare_workspace(project, params)

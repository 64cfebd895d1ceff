"""Inception-v3 on the same path as our classifier, with weights drawn at random in the published file's form."""

import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from ebmbench.config.registry import load
from ebmbench.core.streams import stream
from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.errors import UserError
from ebmbench.features import inception
from ebmbench.features.classifier import hash_tensors
from ebmbench.features.extractor import extract
from ebmbench.metrics.common import fidelity
from ebmbench.metrics.common.neighbours import precision_and_recall
from tests.features.project import evaluation


@cache
def theirs() -> Any:
    """torch-fidelity's own module as its constructor makes it, but with random weights in place of a download."""
    parts = torch_fidelity().feature_extractor_inceptionv3

    class Random(parts.FeatureExtractorInceptionV3):  # type: ignore[misc,name-defined]
        def load_state_dict(self, state: Any) -> None:
            for tensor in self.parameters():
                if tensor.dim() > 1:  # larger than PyTorch's default, with which the signal dies out on its way
                    torch.nn.init.kaiming_normal_(tensor, generator=stream(0, "inception", *tensor.shape))

    with pytest.MonkeyPatch.context() as patch, torch.random.fork_rng(devices=[]):
        patch.setattr(parts, "load_state_dict_from_url", lambda *_, **__: {})
        return Random("theirs", ["2048", "logits_unbiased"])


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inception")
    torch.save(theirs().state_dict(), folder / "weights.pth")
    assert inception.main([str(folder / "weights.pth"), str(folder / "weights.safetensors")]) == 0
    return folder / "weights.safetensors"


@torch.no_grad()
def test_converted_weights_give_torch_fidelitys_own_features(weights: Path) -> None:
    ours = inception.InceptionExtractor(weights, 256)
    images = torch.randint(256, (2, 3, 32, 32), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    for found, expected in zip(ours(images), theirs()(images), strict=True):
        assert torch.equal(found, expected.double())
        assert float((found[0] - found[1]).abs().mean()) > 1e-3  # the weights are alive


@torch.no_grad()
def test_grey_images_of_few_levels_are_spread_and_repeated(weights: Path) -> None:
    grey = torch.randint(17, (2, 1, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    colours = (grey.float() * 255 / 16).round().to(torch.uint8).repeat(1, 3, 1, 1)
    features = []
    for levels, images in ((17, grey), (256, colours)):
        features.append(inception.InceptionExtractor(weights, levels)(images)[0])
    assert torch.equal(*features)
    assert not torch.equal(features[0][0], features[0][1])


def test_with_its_weights_inception_is_the_extractor(weights: Path) -> None:
    e = evaluation(None, inception_weights=str(weights))
    extractor = fidelity.find_extractor(e)
    assert extractor.name.startswith("inception-v3-")
    images = fidelity.to_levels(e.test[:10], 17)  # few: each is a long pass
    features, logits = extract(images, extractor)
    assert features.shape == (10, 2048)
    assert precision_and_recall(features, features[:5], 3)[1] == 1
    assert fidelity.inception_score(logits) >= 1


@pytest.mark.slow  # eigenvalues of a 2048 × 2048 matrix
def test_metrics_by_inception_name_it_and_need_no_labels(weights: Path) -> None:
    e = evaluation(evaluation(None).test[:20], inception_weights=str(weights), reference=20)
    unlabelled = replace(e, facts=replace(e.facts, classes=[]), features=None)
    found = load("metrics", "fid").compute(unlabelled)
    assert found.value > 0
    assert found.protocol.startswith("inception-v3-")


def test_a_pickled_file_is_refused_and_the_command_named(weights: Path) -> None:
    with pytest.raises(UserError, match=r"metrics\.inception_weights: .*python -m ebmbench\.features\.inception"):
        inception.read(weights.with_suffix(".pth"))


def test_a_file_that_is_no_weights_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pth").write_bytes(b"no weights")
    assert inception.main([str(tmp_path / "a.pth"), str(tmp_path / "b.safetensors")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "b.safetensors").exists()


class Trap:
    """What a malicious file would hold: code that runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path("trapped").touch, ())


FORMATS = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "older"])


def saved(path: Path, value: Any, zipped: bool) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=zipped)
    return path


@FORMATS
def test_both_of_torchs_formats_are_converted_to_the_same_weights(tmp_path: Path, zipped: bool) -> None:
    saved(tmp_path / "a.pth", theirs().state_dict(), zipped)
    inception.convert(tmp_path / "a.pth", tmp_path / "a.safetensors")
    found = inception.read(tmp_path / "a.safetensors")
    assert hash_tensors(found) == hash_tensors(theirs().state_dict())


def refused(path: Path) -> str:
    with pytest.raises(UserError, match=f"{path.name}: not a file of weights") as raised:
        inception.convert(path, path.with_suffix(".safetensors"))
    assert "\n" not in str(raised.value)
    assert not path.with_suffix(".safetensors").exists()
    return str(raised.value)


@FORMATS
def test_a_file_with_code_in_it_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool) -> None:
    monkeypatch.chdir(tmp_path)
    line = refused(saved(tmp_path / "trap.pth", {"a": torch.ones(2), "fc.bias": Trap()}, zipped))
    assert "other things than tensors by name" in line
    assert "weights_only" not in line  # torch recommends to turn it off
    assert not (tmp_path / "trapped").exists()


@FORMATS
@pytest.mark.parametrize("value", [torch.ones(2), [torch.ones(2)], {"a": 1}, {1: torch.ones(2)}, {"a": {}}])
def test_anything_but_tensors_by_name_is_refused(tmp_path: Path, zipped: bool, value: Any) -> None:
    assert "other things than tensors by name" in refused(saved(tmp_path / "a.pth", value, zipped))


@FORMATS
def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path, zipped: bool) -> None:
    body = saved(tmp_path / "whole.pth", {"a": torch.ones(3), "b": torch.ones(2)}, zipped).read_bytes()
    for length in range(0, len(body), 7):
        (tmp_path / "b.pth").write_bytes(body[:length])
        refused(tmp_path / "b.pth")


def test_an_archive_with_any_byte_changed_never_gives_other_numbers(tmp_path: Path) -> None:
    body = saved(tmp_path / "whole.pth", {"a": torch.ones(300)}, True).read_bytes()
    for place in range(0, len(body), 5):
        (tmp_path / "a.pth").write_bytes(body[:place] + bytes([body[place] ^ 0x55]) + body[place + 1 :])
        try:
            inception.convert(tmp_path / "a.pth", tmp_path / "b.safetensors")
        except UserError:
            continue
        assert torch.equal(inception.read(tmp_path / "b.safetensors")["a"], torch.ones(300))


def test_an_archive_that_unpacks_to_more_than_itself_is_refused(tmp_path: Path) -> None:
    whole = saved(tmp_path / "whole.pth", {"a": torch.zeros(100_000)}, True)
    with (
        zipfile.ZipFile(whole) as source,
        zipfile.ZipFile(tmp_path / "a.pth", "w", compression=zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, source.read(name))
    assert "a damaged archive" in refused(tmp_path / "a.pth")


def test_tensors_that_share_memory_are_converted(tmp_path: Path) -> None:
    whole = torch.arange(6.0).reshape(2, 3)
    path = saved(tmp_path / "a.pth", {"a": whole, "b": whole.T, "c": whole[1]}, True)
    inception.convert(path, tmp_path / "a.safetensors")
    found = inception.read(tmp_path / "a.safetensors")
    assert torch.equal(found["b"], whole.T)
    assert torch.equal(found["c"], whole[1])

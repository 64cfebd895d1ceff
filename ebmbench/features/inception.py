"""Inception-v3 as the extractor, with its standard weights, which are read from safetensors only.

    python -m ebmbench.features.inception weights-inception-2015-12-05-6726825d.pth inception.safetensors

converts the file that torch-fidelity publishes, once; nothing else opens a `.pth` file. torch-fidelity's own class
unpickles it whenever it is made. Ours builds the same layers and inherits the computation, so numbers are the customary
ones.
"""

import argparse
import sys
import zipfile
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ebmbench.core import checkpoint
from ebmbench.core.torch_compat import torch_fidelity
from ebmbench.errors import UserError, in_words
from ebmbench.features.classifier import hash_tensors

KIND = "inception-v3"
LAYERS = ("2048", "logits_unbiased")  # of features and logits
KEY = "params.yaml: metrics.inception_weights"


def convert(source: Path, target: Path) -> None:
    """Write the tensors of a `.pth` file as safetensors."""
    try:
        tensors = _load_pth(source)
    except Exception as error:  # torch raises nearly anything on a damaged file
        raise UserError(f"{source}: not a file of weights ({_words(error)})") from error
    checkpoint.save(target, tensors, {"kind": KIND})


def _load_pth(path: Path) -> dict[str, Tensor]:
    """Read a file of tensors by name; torch's reader of weights runs nothing that the file holds."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            # torch compresses nothing and does not compare the archive's own sums.
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > path.stat().st_size or archive.testzip() is not None:
                raise ValueError("a damaged archive")
    tensors = torch.load(path, weights_only=True, map_location="cpu")
    named = isinstance(tensors, dict) and all(isinstance(name, str) for name in tensors)
    if not named or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise ValueError("it holds other things than tensors by name")
    # Copies: safetensors refuses tensors that share memory.
    return {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}


def _words(error: Exception) -> str:
    """A short reason; torch's own words on a refused pickle recommend to turn its safety off."""
    text = " ".join(str(error).split())
    refused = "Weights only load failed" in text
    return "it holds other things than tensors by name" if refused else text[:200] or in_words(error)


def read(path: Path) -> dict[str, Tensor]:
    """Read the converted weights."""
    if path.suffix != ".safetensors":
        command = "python -m ebmbench.features.inception FILE.pth FILE.safetensors"
        raise UserError(f"{KEY}: found {path}, allowed: a file made by `{command}`")
    tensors, header = checkpoint.load(path)
    if header.get("kind") != KIND:
        raise UserError(f"{KEY}: {path} does not hold weights of {KIND}")
    return tensors


class InceptionExtractor:
    """Inception-v3 as an extractor (`extractor.py`) of grey or coloured images of `levels` grey values."""

    def __init__(self, weights: Path, levels: int) -> None:
        self._tensors, self._levels = read(weights), levels
        self.name = f"{KIND}-{hash_tensors(self._tensors)}-{levels}"

    @cached_property
    def _network(self) -> Any:
        """torch-fidelity's module with the layers that FID and IS use."""
        base: Any = torch_fidelity().feature_extractor_inceptionv3.FeatureExtractorInceptionV3
        network = base.__new__(base)  # without its __init__, which unpickles weights
        torch_fidelity().FeatureExtractorBase.__init__(network, KIND, list(LAYERS))
        network.feature_extractor_internal_dtype = torch.float32
        for layer, module in _layers().items():
            network.add_module(layer, module)
        network.load_state_dict(self._tensors)
        return network.eval().requires_grad_(False)

    def __call__(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Features and logits of images `(B, 1 or 3, H, W)` in uint8, in float64."""
        # Grey images are repeated; 17 levels are spread over the 256 that Inception expects.
        colours = (images.float() * (255 / (self._levels - 1))).round().to(torch.uint8).expand(-1, 3, -1, -1)
        features, logits = self._network.to(images.device)(colours)
        return features.double(), logits.double()


def _layers() -> dict[str, nn.Module]:
    """The layers of torch-fidelity's Inception-v3 by the names of its weights."""
    parts: Any = torch_fidelity().feature_extractor_inceptionv3
    conv = parts.BasicConv2d
    with torch.random.fork_rng(devices=[]):  # they draw weights, only to be overwritten
        return {
            "Conv2d_1a_3x3": conv(3, 32, kernel_size=3, stride=2),
            "Conv2d_2a_3x3": conv(32, 32, kernel_size=3),
            "Conv2d_2b_3x3": conv(32, 64, kernel_size=3, padding=1),
            "MaxPool_1": nn.MaxPool2d(kernel_size=3, stride=2),
            "Conv2d_3b_1x1": conv(64, 80, kernel_size=1),
            "Conv2d_4a_3x3": conv(80, 192, kernel_size=3),
            "MaxPool_2": nn.MaxPool2d(kernel_size=3, stride=2),
            "Mixed_5b": parts.InceptionA(192, pool_features=32),
            "Mixed_5c": parts.InceptionA(256, pool_features=64),
            "Mixed_5d": parts.InceptionA(288, pool_features=64),
            "Mixed_6a": parts.InceptionB(288),
            **{
                f"Mixed_6{letter}": parts.InceptionC(768, channels_7x7=size)
                for letter, size in zip("bcde", (128, 160, 160, 192), strict=True)
            },
            "Mixed_7a": parts.InceptionD(768),
            "Mixed_7b": parts.InceptionE_1(1280),
            "Mixed_7c": parts.InceptionE_2(2048),
            "AvgPool": nn.AdaptiveAvgPool2d(output_size=(1, 1)),
            "fc": nn.Linear(2048, 1008),
        }


def main(argv: list[str] | None = None) -> int:
    """`python -m ebmbench.features.inception SOURCE.pth TARGET.safetensors`."""
    parser = argparse.ArgumentParser(prog="python -m ebmbench.features.inception", description=convert.__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args(argv)
    try:
        convert(arguments.source, arguments.target)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Small files in the publishers' formats below one folder, and suites of images that take seconds."""

import json
from pathlib import Path
from typing import Any

from ebmbench.data.common.files import UNVERIFIED
from ebmbench.workspace.layout import DATA_ROOT
from tests.data.originals import cifar_batches, cifar_record_bytes, write_celeba, write_tar

# Two or three steps of mle: with batches of 4 and two Langevin steps one takes 32 passes.
SHORT: dict[str, Any] = {
    "training": {"budget": 90, "batch_size": 4, "rows": 2},
    "models": {"unet": {"width": 8}},
    "sampling": {"chains": 20, "short": 2, "long": 3},
    "features": {"epochs": 1},
    "metrics": {"reference": 40},
    "methods": {
        "mle": {"sampler": {"steps": 2}, "buffer": 24},
        "ncsn": {"sampler": {"steps": 2, "levels": 3}},
    },
}
COLOUR = {
    "benchmark": {"datasets": ["cifar10", "celeba"], "methods": ["mle", "ncsn"], "seeds": [0]},
    "datasets": {"cifar10": {"overrides": SHORT}, "celeba": {"overrides": SHORT}},
}


def write_suite(root: Path, name: str, suite: dict[str, Any]) -> None:
    """`suites/<name>.yaml`; JSON is YAML too."""
    named = suite | {"benchmark": {"suite": name, **suite["benchmark"]}}
    (root / "suites" / f"{name}.yaml").write_text(f"# For tests.\n{json.dumps(named)}\n", encoding="utf-8")


def write_colour(folder: Path) -> dict[str, str]:
    """CIFAR-10's binary archive and CelebA's lists and photographs; the variables that lead to them."""
    batches = {f"{name}.bin": cifar_record_bytes(*both) for name, both in cifar_batches(20).items()}
    write_tar(folder / "cifar10" / "cifar-10-binary.tar.gz", batches)
    write_celeba(folder / "celeba", 60)
    return {DATA_ROOT: str(folder), UNVERIFIED: "1"}


# A toy and images beside each other, one cheap method.
PAIR: dict[str, Any] = {
    "benchmark": {"datasets": ["two_moons", "digits"], "methods": ["dsm"], "seeds": [0]},
    "training": {"budget": 5000, "rows": 5},
    "sampling": {"chains": 400, "sampler": {"steps": 3}},
    "metrics": {"cells": 64, "block": 200},
    "datasets": {
        "digits": {
            "overrides": {
                "benchmark": {"metrics": ["fid", "class_entropy"], "baselines": ["oracle", "noisy"]},
                "training": {"budget": 2000},
                "sampling": {"chains": 40, "kinds": ["short"], "short": 2},
                "features": {"epochs": 1},
            }
        }
    },
}

"""prepare@<dataset>: draw or read the data, split them, and write their facts."""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np

from ebmbench.core.code import source_hash
from ebmbench.core.facts import Facts
from ebmbench.core.files import replacing, write_json
from ebmbench.core.params import load_params
from ebmbench.data.loading import open_source
from ebmbench.stages.shell import run_stage


def prepare(root: Path, dataset: str) -> None:
    """Write `data/<dataset>/`.

    Train.npy, test.npy, facts.json, and source.json (the entry, and a hash of its code).
    """
    entry = load_params(root).datasets[dataset]
    source = open_source(dataset, entry, root)
    folder = root / "data" / dataset
    arrays = {"train": source.train.numpy(), "test": source.test.numpy()}
    for split, rows in arrays.items():
        with replacing(folder / f"{split}.npy") as temporary, temporary.open("wb") as file:
            np.save(file, rows, allow_pickle=False)
    digest = hashlib.sha256(b"".join(rows.tobytes() for rows in arrays.values())).hexdigest()
    facts = Facts.of(dataset, arrays["train"], arrays["test"], licence=source.licence, hash=digest)
    write_json(folder / "facts.json", facts.as_dict())
    write_json(folder / "source.json", {**entry.model_dump(), "sha256": source_hash(root / entry.source)})


def main(argv: list[str] | None = None) -> int:
    """`python -m ebmbench.stages.prepare DATASET`."""
    parser = argparse.ArgumentParser(prog="ebmbench prepare", description=__doc__)
    parser.add_argument("dataset")
    dataset = parser.parse_args(argv).dataset
    return run_stage(f"prepare@{dataset}", lambda root: prepare(root, dataset))


if __name__ == "__main__":
    sys.exit(main())

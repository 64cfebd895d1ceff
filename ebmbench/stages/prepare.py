"""prepare@<dataset>: draw or read the data, split them, and write their facts."""

import hashlib
import sys
from pathlib import Path
from typing import Any

from torch import Tensor

from ebmbench.config.params import load_params
from ebmbench.config.sections import Dataset
from ebmbench.core.dataset import Facts, load_facts
from ebmbench.data.common.sources import Source, open_source
from ebmbench.errors import UserError
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.files import read_json, save_array, sha256_of, write_json
from ebmbench.workspace.layout import prepared_folder
from ebmbench.workspace.manifest import PREPARED, materialising


def prepare(root: Path, dataset: str) -> None:
    """Write `prepared/<dataset>/`.

    Train.npy, test.npy, their labels if there are any, facts.json, and source.json (the entry, and a hash of its code).
    """
    entry = load_params(root).datasets[dataset]
    source = open_source(dataset, entry, root)
    unverified = {} if source.verified else {"unverified": True}
    written = {**described(entry), **unverified, **source.origin}
    with materialising(prepared_folder(root, dataset), PREPARED) as folder:
        digest = hashlib.sha256()
        for file, rows in _arrays(source).items():
            save_array(folder / file, rows.numpy())
            digest.update(rows.numpy().tobytes())
        write_json(folder / "facts.json", source.facts(dataset, digest.hexdigest()).as_dict())
        write_json(folder / "source.json", written)


def described(entry: Dataset) -> dict[str, Any]:
    """What an entry says of its data: not what it changes for methods, of which the data know nothing."""
    return entry.model_dump(exclude={"overrides"})


def known_facts(folder: Path, entry: Dataset, root: Path) -> Facts | None:
    """The facts in a prepared folder, if they are of the dataset as it stands now and not of an earlier one."""
    try:
        written = read_json(folder / "source.json")
        current = all(sha256_of(root / file) == found for file, found in written["files"].items())
        return load_facts(folder) if current and written == {**written, **described(entry)} else None
    except (
        UserError,
        OSError,
        KeyError,
        AttributeError,
        TypeError,
    ):  # the stage will say what is wrong, or make them anew
        return None


def _arrays(source: Source) -> dict[str, Tensor]:
    labels = {"train_labels.npy": source.train_labels, "test_labels.npy": source.test_labels}
    found = {"train.npy": source.train, "test.npy": source.test, **labels}
    return {file: rows for file, rows in found.items() if rows is not None}


main = stage_main("prepare", prepare, __doc__, "dataset")


if __name__ == "__main__":
    sys.exit(main())

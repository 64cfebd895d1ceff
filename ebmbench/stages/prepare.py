"""prepare@<dataset>: draw or read the data, split them, and write their facts."""

import sys
from pathlib import Path

from ebmbench.config.params import load_params
from ebmbench.config.sections import Dataset
from ebmbench.core.dataset import Facts, load_facts
from ebmbench.data.common.entries import describe_entry
from ebmbench.data.common.sources import open_source
from ebmbench.errors import UserError
from ebmbench.experiment.data import describe_source, measure_facts, open_outliers, source_arrays
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.files import read_json, save_array, sha256_of, write_json
from ebmbench.workspace.layout import prepared_folder
from ebmbench.workspace.manifest import PREPARED, materialising


def prepare(root: Path, dataset: str) -> None:
    """Write `prepared/<dataset>/`.

    Train.npy, test.npy, their labels (empty, if there are none), facts.json, and source.json (the entry, and a hash of
    its code). If the entry names outliers, their test images in outliers.npy and outliers.json, or there why they are
    missing.
    """
    entry = load_params(root).datasets[dataset]
    source = open_source(dataset, entry, root)
    with materialising(prepared_folder(root, dataset), PREPARED) as folder:
        for file, rows in source_arrays(source).items():
            save_array(folder / file, rows.numpy())
        facts = measure_facts(dataset, source)
        write_json(folder / "facts.json", facts.as_dict())
        write_json(folder / "source.json", describe_source(entry, source))
        if entry.outliers is not None:
            others, described = open_outliers(dataset, entry, facts, root)
            write_json(folder / "outliers.json", described)
            if others is not None:
                save_array(folder / "outliers.npy", others.numpy())
            else:
                print(f"{dataset}: no outliers: {described['reason']}", file=sys.stderr)


def read_current_facts(folder: Path, entry: Dataset, root: Path) -> Facts | None:
    """The facts in a prepared folder, if they are of the dataset as it stands now and not of an earlier one."""
    try:
        written = read_json(folder / "source.json")
        current = all(sha256_of(root / file) == found for file, found in written["files"].items())
        return load_facts(folder) if current and written == {**written, **describe_entry(entry)} else None
    except (
        UserError,
        OSError,
        KeyError,
        AttributeError,
        TypeError,
    ):  # the stage will say what is wrong, or make them anew
        return None


main = stage_main("prepare", prepare, __doc__, "dataset")


if __name__ == "__main__":
    sys.exit(main())

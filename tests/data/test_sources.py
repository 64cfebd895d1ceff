"""What a dataset's Python reads: all of it is declared to DVC and hashed as it was read, or refused in one line."""

from pathlib import Path

import numpy as np
import pytest

from ebmbench.config.sections import Dataset
from ebmbench.data.common import sources
from ebmbench.data.common.entries import describe_entry
from ebmbench.data.common.sources import open_source, open_truth
from ebmbench.errors import UserError
from ebmbench.experiment.data import describe_source
from ebmbench.workspace.files import write_json
from ebmbench.workspace.reads import changed_reads

SMALL = {"train": 50, "test": 20}
PLAIN = """\
import torch
def sample(count, generator):
    return torch.randn(count, 2, generator=generator)
"""
IMPORTS = """\
import {helper}
def sample(count, generator):
    return {helper}.draw(count, generator)
"""
HELPER = """\
import torch
def draw(count, generator):
    return torch.randn(count, 2, generator=generator)
"""
READS = """\
import numpy as np
from pathlib import Path
def sample(count, generator):
    rows = np.load({file})
    return np.resize(rows, (count, 2))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # as `python -m` does
    (tmp_path / "mine.py").write_text(PLAIN)
    return tmp_path


def entry(source: str) -> Dataset:
    return Dataset(source=source, **SMALL)


def test_a_file_that_stands_alone_is_hashed_as_it_was_read(project: Path) -> None:
    first = open_source("mine", entry("mine.py"), project).origin
    assert list(first["files"]) == ["mine.py"]
    (project / "mine.py").write_text(PLAIN.replace("2,", "3,"))
    assert open_source("mine", entry("mine.py"), project).origin["sha256"] != first["sha256"]


def test_a_helper_that_dvc_does_not_see_is_refused(project: Path) -> None:
    (project / "helper_beside.py").write_text(HELPER)
    (project / "mine.py").write_text(IMPORTS.format(helper="helper_beside"))
    with pytest.raises(UserError, match=r"which reads helper_beside.py, and DVC would never notice"):
        open_source("mine", entry("mine.py"), project)


@pytest.mark.parametrize("file", ["'data/mine/raw.npy'", "Path('data/mine/raw.npy')"])
def test_data_that_dvc_does_not_see_are_refused_and_stay(project: Path, file: str) -> None:
    raw = project / "data" / "mine" / "raw.npy"
    raw.parent.mkdir(parents=True)
    np.save(raw, np.random.default_rng(0).normal(size=(30, 2)))
    (project / "mine.py").write_text(READS.format(file=file))
    with pytest.raises(UserError, match=r"reads data/mine/raw.npy.* name the folder as the source"):
        open_source("mine", entry("mine.py"), project)
    assert raw.exists()


def test_a_folder_is_a_source_with_all_that_its_python_reads(project: Path) -> None:
    folder = project / "data" / "mine"
    folder.mkdir(parents=True)
    np.save(folder / "raw.npy", np.random.default_rng(0).normal(size=(30, 2)))
    (folder / "unread.txt").write_text("x")
    (folder / "helper_inside.py").write_text("ROWS = 'raw.npy'\n")
    body = READS.format(file="Path(__file__).parent / helper_inside.ROWS")
    (folder / "dataset.py").write_text(f"import helper_inside\n{body}")
    found = open_source("mine", entry("data/mine"), project)
    assert list(found.origin["files"]) == [
        f"data/mine/{name}" for name in ("dataset.py", "helper_inside.py", "raw.npy", "unread.txt")
    ]
    np.save(folder / "raw.npy", np.random.default_rng(1).normal(size=(30, 2)))
    assert open_source("mine", entry("data/mine"), project).origin["sha256"] != found.origin["sha256"]


def test_a_folder_without_its_python_file_is_named(project: Path) -> None:
    (project / "empty").mkdir()
    with pytest.raises(UserError, match=r"datasets.mine.source: found 'empty', but there is no"):
        open_source("mine", entry("empty"), project)


def test_files_outside_the_project_and_those_that_are_written_do_not_count(project: Path, tmp_path: Path) -> None:
    (project / "mine.py").write_text(PLAIN + "    open('log.txt', 'w').close()\nopen('/dev/null').close()\n")
    assert list(open_source("mine", entry("mine.py"), project).origin["files"]) == ["mine.py"]


def test_the_truth_is_read_only_from_what_the_data_were_prepared_from(project: Path) -> None:
    (project / "truth.py").write_text(
        "from ebmbench.data.two_moons import density as truth\n\ndef density():\n    return truth()\n"
    )
    prepared = project / "prepared" / "truth"
    source = open_source("truth", entry("truth.py"), project)
    write_json(prepared / "source.json", describe_source(entry("truth.py"), source))
    found = open_truth("truth", entry("truth.py"), project, prepared)
    assert found.density is not None
    assert found.origin == {**source.origin, "entry": describe_entry(entry("truth.py"))}
    other = entry("truth.py").model_copy(update={"function": "other"})
    (project / "truth.py").write_text((project / "truth.py").read_text() + "\n\nother = density\n")
    with pytest.raises(UserError, match=r"datasets\.truth: not what the data were prepared from"):
        open_truth("truth", other, project, prepared)
    (project / "truth.py").write_text((project / "truth.py").read_text() + "# edited\n")
    with pytest.raises(UserError, match=r"truth.py: not what the data in truth were prepared from"):
        open_truth("truth", entry("truth.py"), project, prepared)


def test_an_array_that_changes_while_it_is_read_is_not_taken(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(project / "x.npy", np.random.default_rng(0).normal(size=(30, 2)))
    real = sources.read_arrays

    def edit_after(path: Path, name: str) -> object:
        found = real(path, name)
        np.save(path, np.zeros((30, 2)))
        return found

    monkeypatch.setattr(sources, "read_arrays", edit_after)
    with pytest.raises(UserError, match=r"x.npy changed while the dataset mine was read"):
        open_source("mine", entry("x.npy"), project)


def test_a_file_that_is_read_edited_and_put_back_before_the_stage_ends_is_found(project: Path) -> None:
    good = np.random.default_rng(0).normal(size=(30, 2))
    np.save(project / "x.npy", 1000 * good)
    open_source("mine", entry("x.npy"), project)
    np.save(project / "x.npy", good)
    assert "x.npy" in changed_reads()


def test_all_of_a_folder_counts_even_what_is_read_only_when_the_density_is_asked(project: Path) -> None:
    folder, prepared = project / "lazy", project / "prepared" / "lazy"
    folder.mkdir()
    (folder / "scale.txt").write_text("1")
    (folder / "dataset.py").write_text(
        "from ebmbench.data.two_moons import density as truth\n\ndef density():\n    return truth()\n"
    )
    found = describe_source(entry("lazy"), open_source("lazy", entry("lazy"), project))
    assert list(found["files"]) == ["lazy/dataset.py", "lazy/scale.txt"]
    write_json(prepared / "source.json", found)
    (folder / "scale.txt").write_text("2")
    with pytest.raises(UserError, match=r"lazy/scale.txt: not what the data in lazy were prepared from"):
        open_truth("lazy", entry("lazy"), project, prepared)


def test_a_map_of_a_file_is_a_read_and_a_link_to_a_source_is_followed(project: Path) -> None:
    np.zeros(4).tofile(project / "raw.dat")
    (project / "mine.py").write_text(f"import numpy as np\nnp.memmap('raw.dat')\n{PLAIN}")
    with pytest.raises(UserError, match=r"reads raw.dat"):
        open_source("mine", entry("mine.py"), project)
    (project / "shared").mkdir()
    (project / "shared" / "real.py").write_text(PLAIN)
    (project / "link.py").symlink_to("shared/real.py")
    assert list(open_source("linked", entry("link.py"), project).origin["files"]) == ["shared/real.py"]

"""Check a suite before it runs: its settings against its code and data, and its code against `dvc.yaml`.

This imports every method, and so torch, which takes seconds. A suite that was found good is remembered by a hash of all
that was looked at, and is not looked at again until one of these changes.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ebmbench.config.params import Params
from ebmbench.config.sections import Benchmark
from ebmbench.stages.inputs import require_declared
from ebmbench.workspace.cell import Cell
from ebmbench.workspace.code_hash import PACKAGE, versions
from ebmbench.workspace.files import read_json, write_text
from ebmbench.workspace.layout import CHECKED_SUITE, DVC_YAML, PARAMS_YAML, REPORT, prepared_folder


def check_suite(root: Path, params: Params) -> None:
    """Refuse a suite that could not run to its end."""
    seen = _hash(_own_files(root, params)), _hash(_data_files(root, params))
    if seen == _last_seen(root):
        return
    _check_cells(root, params)
    for stage in _example_stages(params.benchmark):
        require_declared(root, stage)
    _remember(root, *seen)


def confirm_suite(root: Path, params: Params) -> None:
    """Note that a whole run went well: data that it has prepared are no reason to check the same settings again."""
    own = _hash(_own_files(root, params))
    if own == _last_seen(root)[0]:
        _remember(root, own, _hash(_data_files(root, params)))


def _last_seen(root: Path) -> tuple[str, str]:
    """The hashes of what was last found good."""
    with suppress(OSError, ValueError):
        own, data = (root / CHECKED_SUITE).read_text(encoding="utf-8").split()
        return own, data
    return "", ""


def _remember(root: Path, own: str, data: str) -> None:
    with suppress(OSError):  # then it is checked again
        if (root / CHECKED_SUITE).parent.is_dir():
            write_text(root / CHECKED_SUITE, f"{own}\n{data}\n")


def _check_cells(root: Path, params: Params) -> None:
    from ebmbench.data.common.entries import declares_binary, source_path
    from ebmbench.data.common.sources import require_sampler
    from ebmbench.experiment.sweep import check_cell
    from ebmbench.samplers.common.choice import parse
    from ebmbench.stages.prepare import read_current_facts

    for dataset in params.benchmark.datasets:
        parse(params.on(dataset).sampling.sampler, PARAMS_YAML, "sampling")
        entry = params.datasets[dataset]
        source_path(root, entry.source, dataset)
        if params.on(dataset).training.data_per_seed:
            require_sampler(dataset, entry, root)
        facts = read_current_facts(prepared_folder(root, dataset), entry, root)
        for method in params.benchmark.methods:
            cell = Cell(root, params.benchmark.suite, dataset, method)
            check_cell(params, cell, facts, declares_binary(root, entry.source, dataset))


def _example_stages(benchmark: Benchmark) -> list[str]:
    """One stage for each kind of plug-in that the suite uses: on another dataset it loads the same code."""
    first = benchmark.datasets[:1]
    cells = [f"{dataset}-{method}" for dataset in first for method in benchmark.methods]
    stages = [*(f"train@{cell}" for cell in cells), *(f"evaluate@{cell}" for cell in cells[:1])]
    return [*stages, *(f"baselines@{name}" for name in first), *(f"claim@{name}" for name in benchmark.claims), REPORT]


def _hash(files: Iterable[Path]) -> str:
    """SHA-256 of the files and of the libraries' versions."""
    whole = hashlib.sha256(repr(versions()).encode())
    for file in files:
        there = file.is_file()
        whole.update(f"{file}\n{there}\n".encode())
        whole.update(hashlib.sha256(file.read_bytes() if there else b"").digest())
    return whole.hexdigest()


def _own_files(root: Path, params: Params) -> Iterator[Path]:
    """Settings and code."""
    yield from (root / PARAMS_YAML, root / DVC_YAML)
    yield from sorted(PACKAGE.rglob("*.py"))
    for dataset in params.benchmark.datasets:
        source = root / params.datasets[dataset].source
        yield from sorted(source.rglob("*.py")) if source.is_dir() else [source]
        if weights := params.on(dataset).metrics.inception_weights:
            yield root / weights


def _data_files(root: Path, params: Params) -> Iterator[Path]:
    """What `prepare` has written, and the files that it has read."""
    for dataset in params.benchmark.datasets:
        folder = prepared_folder(root, dataset)
        yield from (folder / "facts.json", folder / "source.json")
        with suppress(Exception):  # a damaged one is as good as none
            yield from (root / name for name in sorted(read_json(folder / "source.json")["files"]))

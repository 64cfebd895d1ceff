"""Where the numbers come from: code, data, parameters, versions, machine, and the command that makes them again.

The report cannot vouch for its own files: changes below `reports/` and in `dvc.lock` do not make the working tree
dirty, and the lock is hashed without its `report` entry, which holds the hash of the report itself. `params.yaml` is
rewritten when a suite is chosen, so it has its own hash. Versions of libraries are those that the cells' own stages
recorded: the report may be built years later, elsewhere.
"""

import hashlib
import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from ebmbench.config.schema import read_yaml
from ebmbench.report.results.header import Header, current_version
from ebmbench.report.results.staleness import Versions
from ebmbench.report.text.escaping import escape_text
from ebmbench.workspace.code_hash import LIBRARIES, versions
from ebmbench.workspace.git import ask_git
from ebmbench.workspace.layout import DVC_LOCK, PARAMS_YAML, REPORTS

PACKAGES = ("pandas", "dvc", "prefect")  # of the report and the flow: no number depends on them
BUILT = "report built with"
UNKNOWN = "unknown"
ABSENT = "not installed"
PROVED = (f":(exclude){DVC_LOCK}", f":(exclude){PARAMS_YAML}")


def collect_provenance(
    root: Path, suite: str, cells: Sequence[Sequence[Versions]] = (), noun: str = "cell"
) -> dict[str, str]:
    """Facts in the order of the report; `cells` are the versions that each cell (or claim) was made with."""
    return {
        **describe_code(root),
        "dvc.lock without `report`": lock_hash(root / DVC_LOCK),
        PARAMS_YAML: _params(root),
        **describe_versions(cells, noun),
        **{name: _version(name) for name in PACKAGES},
        "system": f"{platform.system()}, {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count() or UNKNOWN),
        "memory": _memory(),
        "rebuild": f"git checkout {ask_git(root, 'rev-parse', 'HEAD') or '<commit>'} && make bench SUITE={suite}",
    }


def describe_code(root: Path) -> dict[str, str]:
    """The version of ebmbench and the commit, with the commit's date, which is the same however often it is asked."""
    return {
        "ebmbench": current_version(),
        "commit": _commit(root),
        "commit date": ask_git(root, "show", "-s", "--format=%cs", "HEAD") or UNKNOWN,
    }


def make_header(
    facts: Mapping[str, str],
    suite: str,
    cells: int,
    missing: Iterable[tuple[str, int]],
    edits: Sequence[str],
    noun: str = "cell",
) -> Header:
    """The first line of a report with these facts."""
    return Header(
        facts.get("ebmbench", UNKNOWN),
        suite,
        cells,
        facts.get("commit", ""),
        facts.get("commit date", UNKNOWN),
        [(word, count) for word, count in missing if count],
        edits,
        noun,
    )


def describe_versions(cells: Sequence[Sequence[Versions]], noun: str = "cell") -> dict[str, str]:
    """Versions that made the numbers, and those of the report itself where they differ.

    Stages of one cell may have run with different versions; then the cell counts for each.
    """
    now = versions()
    stages = [stage for cell in cells for stage in cell]
    names = [name for name in ("Python", *LIBRARIES) if any(name in found for found in (now, *stages))]
    made = {
        name: _counted([{str(stage.get(name, ABSENT)) for stage in cell} for cell in cells], noun) for name in names
    }
    own = [f"{name} {now.get(name, ABSENT)}" for name in names if made[name] != now.get(name, ABSENT)]
    return (made if cells else {}) | ({BUILT: ", ".join(own)} if own else {})


def _counted(cells: Sequence[set[str]], noun: str) -> str:
    """`2.13.0`, or `2.13.0 (14 cells), 2.12.1 (2 cells)`."""
    counts = Counter(value for cell in cells for value in cell)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    each = [f"{escape_text(value)} ({count} {noun}{'s' * (count != 1)})" for value, count in ordered]
    return escape_text(ordered[0][0]) if len(ordered) == 1 else ", ".join(each)


def lock_hash(file: Path) -> str:
    """Hash of what `dvc.lock` says of all stages but `report`, whatever their order in the file."""
    if not file.is_file():
        return "no dvc.lock"
    stages = {name: stage for name, stage in (read_yaml(file).get("stages") or {}).items() if name != "report"}
    return _sha256(json.dumps(stages, sort_keys=True).encode())


def _commit(root: Path) -> str:
    commit = ask_git(root, "rev-parse", "HEAD")
    if not commit:
        return "none (not a Git checkout)"
    changed = ask_git(root, "status", "--porcelain", "--", ".", f":(exclude){REPORTS}", *PROVED)
    return f"{commit} (with uncommitted changes)" if changed else commit


def _params(root: Path) -> str:
    """The file's hash, and whether the file differs from the commit's."""
    file = root / PARAMS_YAML
    if not file.is_file():
        return UNKNOWN
    own = " (not the commit's own)" if ask_git(root, "status", "--porcelain", "--", PARAMS_YAML) else ""
    return _sha256(file.read_bytes()) + own


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ABSENT


def _processor() -> str:
    """The model's name; only Linux needs a file for it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or UNKNOWN


def _memory() -> str:
    """Physical memory in GiB, where the system says."""
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= names.keys():
        return UNKNOWN
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"

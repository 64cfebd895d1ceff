"""Suites: `suites/<name>.yaml` laid over `suites/defaults.yaml`, written whole into `params.yaml`.

Only the datasets and methods of the suite are written, so `params.yaml` lists exactly what will run. Edits and comments
in `params.yaml` are the user's; they are overwritten only with `--force`. A checksum in its second line tells whether
there are any: then a suite whose own file was edited is written again without asking.

A dataset of a suite may say `like: NAME`: its entry is then laid over a copy of that one, with its overrides.
`params.yaml` has the whole entry, and no `like`.
"""

import copy
import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from ebmbench.config.params import Params
from ebmbench.config.schema import check, known, read_yaml
from ebmbench.config.yaml import lay_over
from ebmbench.errors import UserError, in_words, nearest
from ebmbench.workspace.files import write_text
from ebmbench.workspace.layout import DEFAULTS, PARAMS_YAML, SUITES

INVITATION = "Edit freely: DVC runs again what an edit concerns."
CHECKSUM = "# The lines below had this checksum when they were written: "


def available(root: Path) -> dict[str, str]:
    """The suites by name, with the comment that each begins with."""
    files = sorted(file for file in (root / SUITES).glob("*.yaml") if file.stem != "defaults")
    return {file.stem: _first_line(file).lstrip("# ") for file in files}


def _first_line(file: Path) -> str:
    try:
        return next(iter(file.read_text(encoding="utf-8").splitlines()), "")
    except (ValueError, OSError) as error:
        raise UserError(f"{SUITES}/{file.name}: not readable: {in_words(error)}") from error


def use(root: Path, name: str, force: bool = False) -> None:
    """Write a suite into `params.yaml`; refuse if that would drop the user's edits."""
    chosen = _resolved(root, name)
    file = root / PARAMS_YAML
    if not force and file.is_file() and not _is_as_written(file) and (edits := local_edits(root)):
        raise UserError(
            f"{PARAMS_YAML}: found edits that no suite has ({', '.join(edits)}); "
            f"keep them in a suite of your own, or drop them by `ebmbench suite use {name} --force`"
        )
    text = io.StringIO()
    _yaml().dump(chosen, text)
    check(Params, YAML(typ="safe").load(text.getvalue()), f"{SUITES}/{name}.yaml")
    headline, _, rest = text.getvalue().partition("\n")
    write_text(file, f"{headline}\n{_checksum(rest)}\n{rest}")


def local_edits(root: Path) -> list[str]:
    """Keys of `params.yaml` that differ from the suite it names, then comments that no suite brought."""
    current = read_yaml(root / PARAMS_YAML)
    benchmark = current.get("benchmark")
    suite = benchmark.get("suite") if isinstance(benchmark, dict) else benchmark
    if not isinstance(suite, str) or suite not in available(root):
        return [f"benchmark.suite: {suite}"]
    return sorted(_differences(current, _resolved(root, suite))) + _own_comments(root, suite)


def edited_values(root: Path, params: Mapping[str, Any]) -> list[str]:
    """Keys of the parameters whose values are not those of the suite's file; none if there is no such file.

    `resources` say where stages run, and change no number.
    """
    suite = str(params["benchmark"]["suite"])
    if not (root / SUITES / f"{suite}.yaml").is_file():
        return []
    found = sorted(_differences(params, _resolved(root, suite)))
    return [key for key in found if key.partition(".")[0] != "resources"]


def _resolved(root: Path, name: str) -> Any:
    if name not in available(root):
        raise UserError(f"{SUITES}/: found '{name}', {nearest(name, available(root))}")
    whole = _yaml().load((root / DEFAULTS).read_text(encoding="utf-8"))
    overlay = root / SUITES / f"{name}.yaml"
    read_yaml(overlay)  # names the file if it cannot be read; the round trip below keeps how values are written
    lay_over(whole, _yaml().load(overlay.read_text(encoding="utf-8")))
    for dataset in list(whole["datasets"]):
        _complete(whole["datasets"], dataset, f"{SUITES}/{name}.yaml")
    for section in ("datasets", "methods"):
        _keep(whole[section], whole["benchmark"][section])
    for entry in whole["datasets"].values():
        _keep(entry.get("overrides", {}).get("methods", {}), whole["benchmark"]["methods"])
    whole.yaml_set_start_comment(_headline(name).removeprefix("# ") + "\n")
    return whole


def _complete(datasets: Any, name: str, file: str) -> None:
    """Lay an entry over a copy of the one that it is `like`, which may be like another."""
    if not isinstance(datasets[name], dict) or "like" not in datasets[name]:
        return
    entry = copy.deepcopy(datasets[name])  # several may be aliases of one
    other, datasets[name] = entry.pop("like"), entry
    known(other, datasets, file, f"datasets.{name}.like")
    _complete(datasets, other, file)
    if isinstance(datasets[other], dict):
        datasets[name] = copy.deepcopy(datasets[other])
        datasets[name].fa.set_block_style()  # an entry in one line has no room for overrides
        lay_over(datasets[name], entry)


def _own_comments(root: Path, suite: str) -> list[str]:
    """Comments of `params.yaml` that writing the suite did not bring there."""
    files = [root / SUITES / f"{name}.yaml" for name in ("defaults", suite)]
    brought = {_headline(suite)}.union(*(comments(file.read_text(encoding="utf-8")) for file in files))
    found = comments((root / PARAMS_YAML).read_text(encoding="utf-8"))
    own = [one for one in found if one not in brought and not one.startswith(CHECKSUM)]
    return [f"the comment '{one if len(one) <= 60 else one[:59] + '…'}'" for one in own]


def comments(text: str) -> list[str]:
    """The comments of a YAML text, in their order: all that stands between its tokens and is not blank."""
    ends, gaps = 0, []
    for token in YAML(typ="safe", pure=True).scan(text):
        gaps.append(text[ends : token.start_mark.index])
        ends = max(ends, token.end_mark.index)
    lines = "\n".join([*gaps, text[ends:]]).splitlines()
    return [line.strip() for line in lines if line.strip().startswith("#")]


def _headline(name: str) -> str:
    return f"# Suite '{name}', written by `ebmbench suite use {name}`. {INVITATION}"


def _checksum(text: str) -> str:
    return f"{CHECKSUM}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _is_as_written(file: Path) -> bool:
    """Whether the checksum in the second line is that of all lines below it."""
    try:
        _, line, rest = file.read_text(encoding="utf-8").split("\n", 2)
    except ValueError:  # too few lines, or no text
        return False
    return line == _checksum(rest)


def _keep(section: Any, names: list[str]) -> None:
    for key in [key for key in section if key not in names]:
        del section[key]


def _differences(a: Any, b: Any, key: str = "") -> list[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        names = [*a, *(name for name in b if name not in a)]
        return [
            found for name in names for found in _differences(a.get(name), b.get(name), f"{key}.{name}".lstrip("."))
        ]
    return [] if a == b else [key]


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 130
    return yaml

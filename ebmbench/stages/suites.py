"""Suites: `suites/<name>.yaml` laid over `suites/defaults.yaml`, written whole into `params.yaml`.

What is written holds only the datasets and methods that the suite compares, so `params.yaml` says all that will
run and nothing else. Edits of `params.yaml` are the user's; they are not dropped without being asked to.
"""

import io
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from ebmbench.core.errors import UserError, nearest
from ebmbench.core.files import write_text
from ebmbench.core.overlay import lay_over
from ebmbench.core.params import FILE, Params
from ebmbench.core.schema import check, read_yaml


def available(root: Path) -> dict[str, str]:
    """The suites by name, with the comment that each begins with."""
    files = sorted(file for file in (root / "suites").glob("*.yaml") if file.stem != "defaults")
    return {file.stem: file.read_text(encoding="utf-8").splitlines()[0].lstrip("# ") for file in files}


def use(root: Path, name: str, force: bool = False) -> None:
    """Write a suite into `params.yaml`; refuse if that would drop the user's edits."""
    chosen = _resolved(root, name)
    if not force and (root / FILE).is_file() and (edits := local_edits(root)):
        raise UserError(
            f"{FILE}: found edits that no suite has ({', '.join(edits)}); keep them in a suite of your own, or --force"
        )
    text = io.StringIO()
    _yaml().dump(chosen, text)
    check(Params, YAML(typ="safe").load(text.getvalue()), f"suites/{name}.yaml")
    write_text(root / FILE, text.getvalue())


def local_edits(root: Path) -> list[str]:
    """Keys of `params.yaml` that differ from the suite it names."""
    current = read_yaml(root / FILE)
    benchmark = current.get("benchmark")
    suite = benchmark.get("suite") if isinstance(benchmark, dict) else benchmark
    if not isinstance(suite, str) or suite not in available(root):
        return [f"benchmark.suite: {suite}"]
    return sorted(_differences(current, _resolved(root, suite)))


def _resolved(root: Path, name: str) -> Any:
    if name not in available(root):
        raise UserError(f"suites/: found '{name}', {nearest(name, available(root))}")
    whole = _yaml().load((root / "suites" / "defaults.yaml").read_text(encoding="utf-8"))
    overlay = root / "suites" / f"{name}.yaml"
    read_yaml(overlay)  # names the file if it cannot be read; the round trip below keeps how values are written
    lay_over(whole, _yaml().load(overlay.read_text(encoding="utf-8")))
    for section in ("datasets", "methods"):
        _keep(whole[section], whole["benchmark"][section])
    for entry in whole["datasets"].values():
        _keep(entry.get("overrides", {}).get("methods", {}), whole["benchmark"]["methods"])
    whole.yaml_set_start_comment(
        f"Suite '{name}', written by `ebmbench suite use {name}`. Edit freely: DVC runs again what an edit concerns.\n"
    )
    return whole


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

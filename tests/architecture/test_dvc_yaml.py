"""`dvc.yaml` lists every file that a stage imports and every parameter it reads; what is missing, DVC serves stale."""

import re
from pathlib import Path
from typing import Any

import pytest

from ebmbench.config.params import load_params
from ebmbench.config.registry import names
from ebmbench.config.schema import read_yaml
from ebmbench.report.build import find_figures, find_sections
from ebmbench.workspace.code_hash import imported_files

ROOT = Path(__file__).parents[2]
STAGES: dict[str, Any] = read_yaml(ROOT / "dvc.yaml")["stages"]

# What a stage loads by name at run time, beside what its module imports.
BY_NAME = {
    "prepare": ["data"],
    "features": [],
    "baselines": ["baselines", "metrics"],
    "train": ["models", "samplers"],
    "sample": ["models", "samplers"],
    "evaluate": ["models", "samplers", "metrics"],
    "claim": ["claims", "data", "methods", "metrics", "models", "samplers"],
    "report": ["methods", "data", "metrics", "baselines", "samplers"],  # their titles and papers, read without import
}


def body(stage: str) -> dict[str, Any]:
    return STAGES[stage].get("do", STAGES[stage])


def covered(file: Path, stage: str, own: dict[str, str]) -> bool:
    path = file.relative_to(ROOT).as_posix()
    deps = [re.sub(r"\$\{([^}]+)\}", lambda m: own.get(m[1], "?"), dep) for dep in body(stage)["deps"]]
    return any(path == dep or path.startswith(f"{dep}/") for dep in deps)


@pytest.mark.parametrize("stage", list(STAGES))
def test_every_imported_file_is_a_dependency(stage: str) -> None:
    modules = [f"ebmbench.stages.{stage}"]
    loaded = [kind for kind in BY_NAME[stage] if kind != "data" and stage != "report"]
    modules += [f"ebmbench.{kind}.{name}" for kind in loaded for name in names(kind)]
    own = {"item.method": "dsm", "item.source": "ebmbench/data/two_moons.py", "item.claim": "adance_one_is_mle"}
    if stage == "claim":  # each imports itself only, and a claim never another
        modules = [name for name in modules if "claims" not in name] + ["ebmbench.claims.adance_one_is_mle"]
    if stage in ("train", "evaluate"):
        modules.append("ebmbench.methods.dsm")
    if stage == "prepare":
        modules.append("ebmbench.data.two_moons")
    if stage == "report":
        found = [*find_figures(), *find_sections()]
        modules += [module.__name__ for module in found]
    missing = [file for file in imported_files(modules) if not covered(file, stage, own)]
    assert not missing


@pytest.mark.parametrize("claim", names("claims"))
def test_every_file_that_a_claim_imports_is_a_dependency(claim: str) -> None:
    files = imported_files(["ebmbench.stages.claim", f"ebmbench.claims.{claim}"])
    assert not [file for file in files if not covered(file, "claim", {"item.claim": claim})]


@pytest.mark.parametrize("stage", list(STAGES))
def test_every_dependency_in_the_package_exists_and_is_used(stage: str) -> None:
    modules = [f"ebmbench.stages.{stage}", "ebmbench.methods.adance", "ebmbench.data.two_moons"]
    modules += [f"ebmbench.{kind}.{name}" for kind in BY_NAME[stage] for name in names(kind)]
    used = {file.relative_to(ROOT).as_posix() for file in imported_files(modules)}
    for dep in body(stage)["deps"]:
        if dep.startswith("ebmbench/") and "$" not in dep:
            assert (ROOT / dep).exists()
            assert any(path == dep or path.startswith(f"{dep}/") for path in used), f"{dep} is not used by {stage}"


def test_the_modules_loaded_by_name_are_those_that_stages_load() -> None:
    """`load("<kind>", …)` in the closure of a stage is what BY_NAME must list (methods have their own dependency)."""
    for stage, kinds in BY_NAME.items():
        texts = [file.read_text(encoding="utf-8") for file in imported_files([f"ebmbench.stages.{stage}"])]
        found = {kind for text in texts for kind in re.findall(r"load(?:_module)?\(\"(\w+)\"", text)}
        assert found - {"methods", "data"} <= set(kinds) | extra(stage), stage


def extra(stage: str) -> set[str]:
    """Shared modules that can load more than this stage asks of them."""
    return {"baselines": {"models", "samplers"}, "evaluate": {"baselines"}}.get(stage, set())


READS = {
    "benchmark.suite": ["baselines", "train", "sample", "evaluate", "claim"],
    "claims": ["claim"],
    "benchmark.seeds": ["baselines", "train"],
    "benchmark.metrics": ["baselines", "evaluate"],
    "benchmark.baselines": ["baselines"],
    "training": ["train", "report"],
    "models": ["train"],
    "sampling": ["sample"],
    "data": ["prepare"],
    "features": ["features"],
    "datasets.${item.dataset}": ["features", "baselines", "train", "sample", "evaluate"],  # its overrides
    "sampling.chains": ["baselines"],
    "metrics": ["baselines", "evaluate"],
    "benchmark": ["report"],
    "metrics.health": ["report"],
}


@pytest.mark.parametrize(("key", "stages"), list(READS.items()))
def test_parameters_are_declared_where_they_are_read(key: str, stages: list[str]) -> None:
    for stage in stages:
        assert key in body(stage)["params"]


def test_every_section_of_the_parameters_is_declared_by_some_stage() -> None:
    declared = {param.split(".")[0] for stage in STAGES for param in body(stage)["params"]}
    placement = {"resources"}  # where a cell runs makes nothing stale
    assert declared == set(type(load_params(ROOT)).model_fields) - placement

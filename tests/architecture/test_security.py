"""What no file of ours may call, read from the syntax trees; SECURITY.md says why."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    file
    for folder in ("ebmbench", "pipelines", "benchmarks")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if "__pycache__" not in file.parts
]
# Calls that run what they read, or write where an archive says.
FORBIDDEN = (
    r"(eval|exec|compile|__import__|os\.(system|popen|exec\w*|spawn\w*)|(c|_)?[pP]ickle\.(loads?|Unpickler)|dill\..*)"
)
FORBIDDEN += (
    r"|(joblib\.load|shelve\.open|marshal\.loads?|pd\.read_pickle|pandas\.read_pickle|torch\.hub\..*|yaml\.unsafe\w*)"
)
FORBIDDEN += r"|(torch\.load|numpy\.load|tarfile\.extract\w*|\w+\.(extractall|extract|unpack_archive|read_pickle))"
FORBIDDEN += r"|(tempfile\.mktemp|subprocess\.(getoutput|getstatusoutput))"
WEIGHTS = "ebmbench/features/inception.py"  # the one reader of `.pth` files, as tensors and nothing else
SERIALISERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def keywords(call: ast.Call) -> dict[str | None, str]:
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}


def faults(path: str, source: str) -> list[str]:
    """Every call of a file that is not allowed, as `name:line`."""
    tree, found = ast.parse(source), []
    for name, call in calls(tree):
        given = keywords(call)
        tensors = name == "torch.load" and path == WEIGHTS and given.get("weights_only") == "True"
        bad = bool(re.fullmatch(FORBIDDEN, name)) and not tensors
        bad |= name in ("np.load", "numpy.load") and given.get("allow_pickle") != "False"
        bad |= given.get("allow_pickle") == "True" or given.get("shell", "False") != "False"
        bad |= name == "YAML" and given.get("typ", "'rt'") not in ("'safe'", "'rt'")
        bad |= (
            name in ("np.save", "numpy.save") and path != "ebmbench/workspace/files.py"
        )  # loses its end on a full disk
        bad |= name in ("yaml.load", "yaml.full_load")
        bad |= given.get("host", "'127.0.0.1'") in ("'0.0.0.0'", "''", "'::'")
        found += [f"{name}:{call.lineno}"] if bad else []
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        origin = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        imported = {name.partition(".")[0] for name in (origin or names)} & SERIALISERS
        found += [f"import {name}" for name in imported]
        if isinstance(node, ast.Constant) and node.value in ("0.0.0.0", "::"):
            found.append(f"an address beyond this machine:{node.lineno}")
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_nothing_runs_what_it_reads(file: Path) -> None:
    path = file.relative_to(ROOT).as_posix()
    assert not faults(path, file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from joblib import load",
        "torch.load(f, weights_only=True)",
        "np.load(f)",
        "np.load(f, allow_pickle=True)",
        "eval(text)",
        "archive.extractall(folder)",
        "subprocess.run(text, shell=True)",
        "YAML(typ='unsafe').load(f)",
        "serve(host='0.0.0.0')",
        "os.system(text)",
        "np.save(file, rows)",
    ],
)
def test_the_walk_finds_what_it_looks_for(line: str) -> None:
    assert faults("x.py", line)


def test_torch_loads_only_tensors_and_in_one_file_only() -> None:
    assert not faults(WEIGHTS, "torch.load(f, weights_only=True)")
    assert faults(WEIGHTS, "torch.load(f)")
    assert faults(WEIGHTS, "torch.load(f, weights_only=False)")


def test_every_dependency_is_pinned_to_one_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line.strip() and not line.startswith("#")]
    assert pins
    assert not [pin for pin in pins if not re.match(r"^[A-Za-z0-9._-]+==[^\s*]+(\s*[;#].*)?$", pin)]
    pinned = {re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower() for pin in pins}
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wanted = re.findall(r'^  "([A-Za-z0-9_.-]+)[<>=]', text, re.MULTILINE)
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in wanted} - pinned == set()


def test_the_policy_is_there_and_names_its_tests() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for path in re.findall(r"`(tests/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path
